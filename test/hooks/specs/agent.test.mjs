// What a node does for the options and values of useAgent that need neither state nor methods.
import assert from "node:assert/strict";
import { warnings } from "../lib/browser.mjs";
import { suite } from "../lib/suite.mjs";

const OPEN = 1;
const CLOSED = 3;
const url = (tab, i = 0) => new URL(tab.frames.filter((f) => f.dir === "open")[i].frame.url);
const identity = (tab) => ({ name: tab.agent.name, agent: tab.agent.agent, identified: tab.agent.identified });

const open = (room, agent, chat = false) => room.open({ agent, chat });

suite("useAgent", {
  "agent, name, host: the address; identified, ready, onIdentity: who is there": async (room) => {
    const tab = open(room);
    await tab.until("the first render", () => tab.agent);
    assert.deepEqual(identity(tab), { name: room.name, agent: "chat-agent", identified: false });
    await tab.agent.ready;
    await tab.ready();
    assert.equal(url(tab).pathname, `/agents/chat-agent/${room.name}`);
    assert.deepEqual(tab.calls.onIdentity, [[room.name, "chat-agent"]]);
    assert.deepEqual(tab.agent.path, [{ agent: "ChatAgent", name: room.name }]);
    assert.deepEqual([tab.agent.state, tab.agent.connectionError, tab.calls.onStateUpdate], [undefined, null, []]);
    assert.ok(tab.agent.getHttpUrl().startsWith(`http://${room.node.host}/agents/chat-agent/${room.name}`));
  },

  "name absent: the conversation is called default": async (room) => {
    const tab = await open(room, { name: undefined }).ready();
    assert.deepEqual(identity(tab), { name: "default", agent: "chat-agent", identified: true });
  },

  "protocol: of a host that is not known to be local": async (room) => {
    const tab = await open(room, { host: room.node.otherHost.toUpperCase(), protocol: "ws" }).ready();
    assert.equal(tab.agent.identified, true);
    assert.equal(url(tab).protocol, "ws:");
  },

  "basePath: the node chooses the conversation, useAgentChat uses it": async (room) => {
    const tab = await open(room, { basePath: `custom/${room.name}`, query: { as: room.name } }, {}).ready();
    assert.deepEqual(identity(tab), { name: room.name, agent: "chat-agent", identified: true });
    assert.equal(url(tab).pathname, `/custom/${room.name}`);
    assert.deepEqual(tab.requests.map((r) => [new URL(r.url).pathname, r.status]), [[`/custom/${room.name}/get-messages`, 200]]);
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    assert.equal((await room.stored()).length, 2);
  },

  "path: more of it is no other conversation": async (room) => {
    const tab = await open(room, { path: "x/y" }, {}).ready();
    assert.equal(tab.agent.name, room.name);
    assert.deepEqual([url(tab).pathname, new URL(tab.requests[0].url).pathname], [`/agents/chat-agent/${room.name}/x/y`, `/agents/chat-agent/${room.name}/x/y/get-messages`]);
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    assert.equal((await room.stored()).length, 2);
  },

  "onIdentityChange: the node sends the page somewhere else when it is back": async (room) => {
    const changes = [];
    let n = 0;
    const query = async () => ({ as: `${room.name}-${++n}` });
    const tab = await open(room, { basePath: `custom/${room.name}`, query, onIdentityChange: (...args) => changes.push(args) }).ready();
    assert.equal(tab.agent.name, `${room.name}-1`);
    tab.cut();
    await tab.until("the change", () => changes.length && tab.agent.identified);
    assert.deepEqual(changes, [[`${room.name}-1`, `${room.name}-2`, "chat-agent", "chat-agent"]]);
    assert.equal(tab.agent.name, `${room.name}-2`);
  },

  "onIdentityChange absent: a warning": async (room) => {
    let n = 0;
    const tab = await open(room, { basePath: `custom/${room.name}`, query: async () => ({ as: `${room.name}-${++n}` }) }).ready();
    tab.cut();
    await tab.until("the other one", () => tab.agent.name === `${room.name}-2` && tab.agent.identified);
    assert.ok(warnings.some((w) => w.includes("Identity changed on reconnect") && w.includes(`${room.name}-2`)));
  },

  "onMcpUpdate: there are no servers": async (room) => {
    const tab = await open(room).ready();
    await tab.until("the list", () => tab.calls.onMcpUpdate.length);
    assert.deepEqual(tab.calls.onMcpUpdate, [[{ servers: {}, tools: [], prompts: [], resources: [] }]]);
  },

  "query, an object: reaches the node with the upgrade and with get-messages; null does not": async (room) => {
    const tab = await open(room, { query: { token: "a b&c", none: null } }, {}).ready();
    for (const to of [url(tab), new URL(tab.requests[0].url)]) assert.deepEqual([to.searchParams.get("token"), to.searchParams.has("none")], ["a b&c", false]);
    assert.ok(!new URL(tab.requests[0].url).searchParams.has("_pk"));
    const denied = open(room, { query: { deny: "1" }, maxRetries: 0 });
    await denied.until("the refusal", () => denied.calls.onConnectionError.length);
  },

  "query, an async function: asked again for each connection, so that a refused page gets in with a new token": async (room) => {
    let n = 0;
    const query = async () => (++n === 1 ? { deny: "1" } : { token: String(n) });
    const tab = await open(room, { query }).ready();
    const token = (i) => url(tab, i).searchParams.get("token");
    const first = n;
    assert.equal(url(tab).searchParams.has("deny"), false);
    tab.cut();
    await tab.until("to be back", () => tab.frames.filter((f) => f.dir === "open").length === 2 && tab.agent.identified);
    assert.ok(n > first && Number(token(1)) > 1, `${token(1)} of ${n}`);
  },

  "cacheTtl: a query that grows old is asked anew, and the socket opens with it": async (room) => {
    let n = 0;
    const tab = await open(room, { query: async () => ({ token: String(++n) }), cacheTtl: 1500 }).ready();
    await tab.until("a socket with the next one", () => tab.frames.filter((f) => f.dir === "open").length >= 2 && tab.agent.identified);
    assert.notEqual(url(tab, 0).searchParams.get("token"), url(tab, 1).searchParams.get("token"));
  },

  "queryDeps: another value asks anew": async (room) => {
    let user = "ann";
    const query = async () => ({ user });
    const tab = await open(room, { query, queryDeps: ["ann"] }).ready();
    assert.equal(url(tab).searchParams.get("user"), "ann");
    user = "bob";
    await tab.update({ agent: { queryDeps: ["bob"] } });
    await tab.until("the other user's socket", () => tab.frames.some((f) => f.dir === "open" && f.frame.url.includes("user=bob")) && tab.agent.identified);
  },

  "enabled: no socket while it is false": async (room) => {
    const tab = open(room, { enabled: false });
    await tab.until("a render", () => tab.agent);
    await tab.update({ agent: { enabled: true } });
    await tab.ready();
    assert.equal(tab.sockets.length, 1);
    await tab.update({ agent: { enabled: false } });
    await tab.until("the close", () => tab.agent.readyState === CLOSED && !tab.agent.identified);
    await tab.update({ agent: { enabled: true } });
    await tab.ready();
    assert.equal(tab.sockets.length, 2);
  },

  "startClosed: no socket until reconnect is called": async (room) => {
    const tab = open(room, { startClosed: true });
    await tab.until("a render", () => tab.agent);
    await new Promise(setImmediate);
    assert.equal(tab.sockets.length, 0);
    tab.agent.reconnect();
    await tab.ready();
    assert.equal(tab.sockets.length, 1);
  },

  "id: the page's own name for its connection": async (room) => {
    const tab = await open(room, { id: "my-connection" }).ready();
    assert.equal(url(tab).searchParams.get("_pk"), "my-connection");
    const twin = await open(room, { id: "my-connection" }).ready();
    assert.deepEqual([tab.agent.readyState, twin.agent.readyState], [OPEN, OPEN]);
  },

  "onOpen, onMessage, onClose, onError: the socket's events": async (room) => {
    const tab = await open(room).ready();
    assert.deepEqual([tab.calls.onOpen.length, tab.calls.onClose.length], [1, 0]);
    // Frames of useAgent's own do not reach onMessage; the others do.
    tab.agent.send(JSON.stringify({ type: "cf_agent_stream_resume_request", probeId: "mine" }));
    await tab.until("the answer", () => tab.calls.onMessage.length === 1);
    assert.deepEqual(JSON.parse(tab.calls.onMessage[0][0].data), { type: "cf_agent_stream_resume_none", probeId: "mine", reason: "idle" });
    tab.cut();
    await tab.until("both events", () => tab.calls.onClose.length === 1 && tab.calls.onOpen.length === 2);
    assert.equal(tab.calls.onClose[0][0].code, 1006);
    const denied = open(room, { query: { deny: "1" }, maxRetries: 0 });
    await denied.until("the error", () => denied.calls.onError.length);
  },

  "close and reconnect: by hand; the page is the same one to the node": async (room) => {
    const tab = await open(room).ready();
    tab.agent.close();
    await tab.until("the close", () => tab.agent.readyState === CLOSED && !tab.agent.identified);
    tab.agent.reconnect();
    await tab.ready();
    assert.equal(url(tab, 0).searchParams.get("_pk"), url(tab, 1).searchParams.get("_pk"));
  },

  "send while the socket is away: it goes out with the next one": async (room) => {
    const tab = await open(room).ready();
    tab.cut();
    await tab.until("to be offline", () => tab.agent.readyState !== OPEN);
    tab.agent.send(JSON.stringify({ type: "cf_agent_stream_resume_request", probeId: "late" }));
    await tab.until("the answer", () => tab.received("cf_agent_stream_resume_none").some((f) => f.probeId === "late"));
    assert.equal(tab.sockets.length, 2);
  },

  "minReconnectionDelay absent: back after three seconds": async (room) => {
    const tab = await open(room, { minReconnectionDelay: undefined, maxReconnectionDelay: undefined }).ready();
    const at = performance.now();
    tab.cut();
    await tab.until("to be back", () => tab.sockets.length === 2 && tab.agent.identified);
    assert.ok(performance.now() - at >= 2900);
  },

  "maxRetries, onConnectionError, connectionError: a page that is refused gives up when it says so": async (room) => {
    const chat = { getInitialMessages: null };
    const tab = open(room, { query: { deny: "1" }, maxRetries: 2 }, chat);
    await tab.until("the error", () => tab.agent?.connectionError && tab.chat?.connectionError);
    assert.equal(tab.calls.onConnectionError.length, 1);
    assert.equal(tab.agent.identified, false);
    assert.equal(tab.sockets.length, 3);
    await tab.update({ agent: { query: {} } });
    await tab.ready();
    assert.deepEqual([tab.agent.connectionError, tab.chat.connectionError], [null, null]);
  },

  "shouldReconnectOnClose: the page decides by the node's close code": async (room) => {
    await room.ownNode();
    const codes = [];
    const shouldReconnectOnClose = (event) => (codes.push(event.code), false);
    const tab = await open(room, { shouldReconnectOnClose }).ready();
    await room.node.shutDown();
    await tab.until("the end", () => tab.agent.connectionError);
    assert.equal(tab.agent.connectionError.code, 1012);
    assert.ok(codes.length > 0 && codes.every((code) => code === 1012), String(codes));
    assert.equal(tab.sockets.length, 1);
    await room.node.start();
  },

  "a node that stops and starts again: every page comes back by itself": async (room) => {
    await room.ownNode();
    const tab = await open(room, {}, {}).ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    await room.node.shutDown();
    await tab.until("the close", () => tab.calls.onClose.length && tab.calls.onClose[0][0].code === 1012);
    await room.node.start();
    await tab.ready();
    tab.chat.sendMessage({ text: "again" });
    await tab.answers("echo:again");
  },

  "the name changes: the page moves to the other conversation": async (room) => {
    const tab = await open(room, {}, {}).ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    await tab.update({ agent: { name: `${room.name}-2` } });
    await tab.until("the other conversation", () => tab.agent.name === `${room.name}-2` && tab.agent.identified && tab.lines().length === 0);
    tab.chat.sendMessage({ text: "there" });
    await tab.shows("user: there", "assistant: echo:there");
    assert.equal((await room.stored()).length, 2);
  },
});
