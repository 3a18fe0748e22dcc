// What a node does for each option of useAgentChat that needs no tools.
import assert from "node:assert/strict";
import { ai, getAgentMessages, setCookie, warnings } from "../lib/browser.mjs";
import { paced, suite } from "../lib/suite.mjs";

/** A conversation of two messages, left by a tab that has gone. */
async function hello(room) {
  const tab = await room.open().ready();
  tab.chat.sendMessage({ text: "hello" });
  await tab.shows("user: hello", "assistant: echo:hello");
  tab.close();
}

const stored = ["user: hello", "assistant: echo:hello"];

/** The key of a data part's schema. */
const dataKey = (name) => (ai === 6 ? `data-${name}` : name);

/** A standard schema. */
const schema = (validate) => ({ "~standard": { version: 1, vendor: "test", validate } });

/** Asks script:paced, which answers by the body. */
async function ask(tab, options) {
  await tab.ready();
  tab.chat.sendMessage({ text: "script:paced" }, options);
}

suite("useAgentChat, options", {
  "getInitialMessages absent: the stored conversation is in the first render": async (room) => {
    await hello(room);
    const tab = await room.open().ready();
    assert.deepEqual(tab.renders[0].lines, stored);
    assert.deepEqual(tab.requests.map((r) => [new URL(r.url).pathname, r.status]), [[`/agents/chat-agent/${room.name}/get-messages`, 200]]);
  },

  "getInitialMessages null: nothing is fetched, the socket brings the conversation": async (room) => {
    await hello(room);
    const tab = await room.open({ chat: { getInitialMessages: null } }).ready();
    await tab.shows(...stored);
    assert.deepEqual(tab.renders[0].lines, []);
    assert.deepEqual(tab.requests, []);
  },

  "getInitialMessages of one's own: shown at first, asked once, and given the address": async (room) => {
    await hello(room);
    const asked = [];
    const getInitialMessages = async (options) => (asked.push(options), [{ id: "own", role: "user", parts: [{ type: "text", text: "my own" }] }]);
    const tab = await room.open({ chat: { getInitialMessages } }).ready();
    assert.deepEqual(tab.renders[0].lines, ["user: my own"]);
    assert.deepEqual(asked, [{ agent: "chat-agent", name: room.name, url: `http://${room.node.host}/agents/chat-agent/${room.name}` }].map((o) => ({ ...o, url: asked[0].url })));
    assert.ok(asked[0].url.startsWith(`http://${room.node.host}/agents/chat-agent/${room.name}`), asked[0].url);
    assert.deepEqual(tab.requests, []);
    await tab.shows(...stored); // what the node has stored outweighs what the page has brought
  },

  "messages: the page's own beginning goes along with the first request and is stored": async (room) => {
    const messages = [{ id: "begin", role: "user", parts: [{ type: "text", text: "the beginning" }] }];
    const tab = await room.open({ chat: { getInitialMessages: null, messages } }).ready();
    assert.deepEqual(tab.renders[0].lines, ["user: the beginning"]);
    tab.chat.sendMessage({ text: "and on" });
    await tab.shows("user: the beginning", "user: and on", "assistant: echo:and on");
    assert.deepEqual((await room.stored()).map((m) => m.id), tab.chat.messages.map((m) => m.id));
    assert.equal((await room.stored())[0].id, "begin");
  },

  "headers: sent with get-messages, also to another origin": async (room) => {
    await hello(room);
    const open = (headers) => room.openElsewhere({ chat: { headers } }).ready();
    const allowed = await open({ "x-other": "1" });
    assert.deepEqual([allowed.renders[0].lines, allowed.requests[0].status], [stored, 200]);
    allowed.close();
    const denied = await open({ "x-deny": "1" });
    assert.deepEqual([denied.renders[0].lines, denied.requests[0].status], [[], 403]);
    assert.ok(warnings.some((w) => w.includes("Failed to fetch initial messages: 403")));
    await denied.shows(...stored); // the socket brings them all the same
  },

  "credentials: say whether get-messages carries the cookies": async (room) => {
    await hello(room);
    setCookie(`deny=1; path=/agents/chat-agent/${room.name}`);
    const without = await room.open({ chat: { credentials: "omit" } }).ready();
    assert.deepEqual([without.renders[0].lines, without.requests[0].status], [stored, 200]);
    without.close();
    const withCookie = await room.open({ chat: { credentials: "include" } }).ready();
    assert.deepEqual([withCookie.renders[0].lines, withCookie.requests[0].status], [[], 403]);
  },

  "body, an object: every request carries it to the handler": async (room) => {
    const tab = room.open({ chat: { body: { word: "fig", words: 3 } } });
    await ask(tab);
    await tab.answers(paced("fig", 3));
  },

  "body, a function: asked for each request": async (room) => {
    const words = ["fig", "plum"];
    const tab = room.open({ chat: { body: () => ({ word: words.shift(), words: 2 }) } });
    await ask(tab);
    await tab.answers(paced("fig", 2));
    await ask(tab);
    await tab.answers(paced("plum", 2));
  },

  "body, an async function: waited for": async (room) => {
    const body = () => new Promise((resolve) => setImmediate(resolve, { word: "fig", words: 2 }));
    const tab = room.open({ chat: { body } });
    await ask(tab);
    await tab.answers(paced("fig", 2));
  },

  "stop while body is still being made: nothing is sent": async (room) => {
    let made;
    const body = () => new Promise((resolve) => (made = resolve));
    const tab = await room.open({ chat: { body } }).ready();
    tab.chat.sendMessage({ text: "never" });
    await tab.until("the question for a body", () => made && tab.chat.status === "submitted");
    const stopped = tab.chat.stop();
    made({});
    await stopped;
    await tab.until("to be ready", () => tab.chat.status === "ready");
    await tab.fence();
    assert.deepEqual(tab.sent("cf_agent_use_chat_request"), []);
    assert.deepEqual(await room.stored(), []);
  },

  "prepareSendMessagesRequest: its body outweighs body, that of sendMessage outweighs both": async (room) => {
    const asked = [];
    const prepareSendMessagesRequest = async (options) => (asked.push(options), { body: { word: "plum", words: 2 }, headers: { "x-any": "1" } });
    const tab = room.open({ chat: { body: { word: "fig", words: 1, delayMs: 1 }, prepareSendMessagesRequest } });
    await ask(tab);
    await tab.answers(paced("plum", 2));
    assert.deepEqual([asked[0].trigger, asked[0].id, asked[0].messages.length], ["submit-message", tab.agent.id, 1]);
    await ask(tab, { body: { word: "kiwi" } });
    await tab.answers(paced("kiwi", 2));
  },

  "syncMessagesToServer: setMessages changes the other tab and what is stored; with false neither": async (room) => {
    await hello(room);
    const a = await room.open().ready();
    const b = await room.openElsewhere().ready();
    a.chat.setMessages((now) => [...now, { id: "x", role: "user", parts: [{ type: "text", text: "put in" }] }]);
    await b.shows(...stored, "user: put in");
    assert.equal((await room.stored()).at(-1).id, "x");

    await a.update({ chat: { syncMessagesToServer: false } });
    a.chat.setMessages([]);
    await a.shows();
    await a.fence();
    await b.fence();
    assert.equal(a.sent("cf_agent_chat_messages").length, 1);
    assert.equal(b.lines().length, 3);
    assert.equal((await room.stored()).length, 3);
  },

  "throttle: how often a stream renders; all of it is there in the end": async (room) => {
    const states = async (chat) => {
      const tab = room.open({ chat: { body: { words: 30, delayMs: 15 }, ...chat } });
      await ask(tab);
      await tab.answers(paced("w", 30));
      tab.close();
      return new Set(tab.renders.map((r) => r.lines.at(-1))).size;
    };
    const every = await states({ throttle: false });
    for (const chat of [{ throttle: 2_000 }, { experimental_throttle: 2_000 }]) {
      const few = await states(chat);
      assert.ok(few < every / 2, `${JSON.stringify(chat)}: ${few} of ${every}`);
    }
  },

  "generateId: the node stores a message under the page's id": async (room) => {
    let n = 0;
    const tab = await room.open({ chat: { generateId: () => `mine-${++n}` } }).ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.shows(...stored);
    assert.match((await room.stored())[0].id, /^mine-\d+$/);
    assert.deepEqual((await room.stored()).map((m) => m.id), tab.chat.messages.map((m) => m.id));
  },

  "messageMetadataSchema and dataPartSchemas: hold for what a node sends": async (room) => {
    const seen = [];
    const note = (name) => schema((value) => (seen.push([name, value]), { value }));
    const chat = { messageMetadataSchema: note("metadata"), dataPartSchemas: { [dataKey("progress")]: note("progress") } };
    const tab = await room.open({ chat }).ready();
    tab.chat.sendMessage({ text: "script:data" });
    await tab.answers("ok");
    assert.equal(tab.chat.error, undefined);
    const values = (name) => seen.filter(([n]) => n === name).map(([, v]) => v);
    assert.deepEqual(values("progress").map((v) => v.pct), [0, 50, 100]);
    assert.ok(values("metadata").some((v) => v.model === "fake"));
  },

  "cancelOnClientAbort: a stream that the page gives up is cancelled; by default the node goes on": async (room) => {
    const picky = { [dataKey("paced")]: schema(() => ({ issues: [{ message: "not what the page wants" }] })) };
    const words = 40;
    const chat = { dataPartSchemas: picky, body: { words, delayMs: 5, data: {} } };
    const leave = async (cancelOnClientAbort) => {
      const tab = await room.open({ chat: { ...chat, cancelOnClientAbort } }).ready();
      tab.chat.sendMessage({ text: "script:paced" });
      await tab.until("the page's error", () => tab.chat.status === "error");
      const [end] = await tab.turnEnds(1);
      const told = { outcome: end.outcome, cancels: tab.sent("cf_agent_chat_request_cancel").length };
      tab.close();
      return told;
    };
    assert.deepEqual(await leave(false), { outcome: "completed", cancels: 0 });
    assert.equal(room.textOf((await room.stored()).at(-1)), paced("w", words));
    assert.deepEqual(await leave(true), { outcome: "aborted", cancels: 1 });
    assert.notEqual(room.textOf((await room.stored()).at(-1)), paced("w", words));
  },

  "sendAutomaticallyWhen: what the page sends by itself is a turn of its own": async (room) => {
    let times = 0;
    const tab = await room.open({ chat: { sendAutomaticallyWhen: () => ++times === 1 } }).ready();
    tab.chat.sendMessage({ text: "hello" });
    // The AI SDK begins the second answer as a copy of the first one; the node has answered with a message of its own.
    await tab.shows("user: hello", "assistant: echo:hello", "assistant: echo:helloecho:hello");
    const ends = await tab.turnEnds(2);
    assert.deepEqual(ends.map((e) => [e.outcome, e.messageIds?.length]), [["completed", 1], ["completed", undefined]]);
    assert.deepEqual((await room.stored()).map(room.textOf), ["hello", "echo:hello", "echo:hello"]);
    assert.deepEqual((await room.stored()).map((m) => m.id), tab.chat.messages.map((m) => m.id));
  },

  "getAgentMessages: the stored conversation, outside of React": async (room) => {
    await hello(room);
    const host = `http://${room.node.host}`;
    const messages = await getAgentMessages({ host, agent: "ChatAgent", name: room.name });
    assert.deepEqual(messages, await room.stored());
    assert.equal(messages.length, 2);
    assert.deepEqual(await getAgentMessages({ url: `${host}/agents/chat-agent/${room.name}/get-messages` }), messages);
    assert.deepEqual(await getAgentMessages({ host, agent: "ChatAgent", name: room.name, headers: { "x-deny": "1" } }), []);
  },
});
