// What a node does for the options and values of useAgent that need state, methods, sub-agents or queue policies.
import assert from "node:assert/strict";
import { warnings } from "../lib/browser.mjs";
import { suite } from "../lib/suite.mjs";

const agent = "StateAgent";

/** Two tabs with StateAgent; nothing of useAgentChat. */
async function tabs(room, a = {}, b = {}) {
  const open = (options) => room.open({ agent: { agent, ...options }, chat: false }).ready();
  return Promise.all([open(a), open(b)]);
}

async function one(room, options) {
  return room.open({ agent: { agent, ...options }, chat: false }).ready();
}

const updates = (tab) => tab.calls.onStateUpdate;
const fails = (promise) => promise.then(() => assert.fail("no error"), (error) => error.message);

suite("useAgent, state and methods", {
  "state, onStateUpdate: there on connect, before the identity": async (room) => {
    const order = [];
    const note = (name) => () => order.push(name);
    const tab = await one(room, { onStateUpdate: note("state"), onIdentity: note("identity") });
    assert.deepEqual(tab.agent.state, { count: 0 });
    assert.deepEqual(updates(tab), [[{ count: 0 }, "server"]]);
    assert.deepEqual(order, ["state", "identity"]);
    assert.equal(tab.received("cf_agent_identity")[0].stateFollows, true);
  },

  "setState: here at once, in the other tab through the node, and there for a page that comes later": async (room) => {
    const [a, b] = await tabs(room);
    a.agent.setState({ count: 9, more: [1, { x: null }] });
    await b.until("the state", () => b.agent.state.count === 9);
    assert.deepEqual(b.agent.state, { count: 9, more: [1, { x: null }] });
    assert.deepEqual(updates(a).map(([s, by]) => [s.count, by]), [[0, "server"], [9, "client"]]);
    assert.deepEqual(updates(b).map(([s, by]) => [s.count, by]), [[0, "server"], [9, "server"]]);
    const late = await one(room);
    assert.equal(late.agent.state.count, 9);
    assert.equal(await a.agent.call("add", [1, 1]), 2); // all that the node had to say to a has come before
    assert.equal(a.received("cf_agent_state").length, 1);
  },

  "onStateUpdateError: a state that the agent refuses; the others never see it": async (room) => {
    const [a, b] = await tabs(room);
    a.agent.setState({ count: -4 });
    await a.until("the error", () => a.calls.onStateUpdateError.length);
    assert.deepEqual(a.calls.onStateUpdateError, [["State update rejected"]]);
    await b.agent.call("add", [1, 1]);
    assert.equal(b.agent.state.count, 0);
    assert.equal((await one(room)).agent.state.count, 0);
  },

  "onStateUpdateError: a readonly connection": async (room) => {
    const [a, b] = await tabs(room, { query: { readonly: "1" } });
    a.agent.setState({ count: 5 });
    await a.until("the error", () => a.calls.onStateUpdateError.length);
    assert.deepEqual(a.calls.onStateUpdateError, [["Connection is readonly"]]);
    assert.equal(await fails(a.agent.call("bump")), "Connection is readonly");
    b.agent.setState({ count: 6 });
    await a.until("the other's state", () => a.agent.state.count === 6);
  },

  "state after kill -9: as it was": async (room) => {
    await room.ownNode();
    const tab = await one(room);
    tab.agent.setState({ count: 3 });
    assert.deepEqual(await tab.agent.call("bump"), { count: 4 });
    await room.node.kill9();
    await tab.until("to be offline", () => !tab.agent.identified);
    await room.node.start();
    await tab.ready();
    await tab.until("the state, from the node", () => updates(tab).at(-1)[0].count === 4 && tab.received("cf_agent_state").length === 3);
  },

  "a connection without protocol: no identity, no state, calls work": async (room) => {
    const tab = room.open({ agent: { agent, query: { noproto: "1" } }, chat: false });
    await tab.until("open", () => tab.calls.onOpen.length);
    assert.equal(await tab.agent.call("add", [2, 3]), 5);
    assert.deepEqual([tab.agent.identified, tab.agent.state, tab.calls.onMcpUpdate], [false, undefined, []]);
  },

  "an agent that does not say who it is: its state comes all the same": async (room) => {
    const tab = room.open({ agent: { agent: "QuietAgent" }, chat: false });
    await tab.until("the state", () => tab.agent?.state);
    assert.deepEqual([tab.agent.state, tab.agent.identified, tab.calls.onIdentity], [{ q: 1 }, false, []]);
  },

  "an agent without anything: identity, no state": async (room) => {
    const tab = await room.open({ agent: { agent: "BareAgent" }, chat: false }).ready();
    assert.deepEqual([tab.agent.state, updates(tab), tab.calls.onIdentity], [undefined, [], [[room.name, "bare-agent"]]]);
  },

  "call and stub: results, none, null; state that a method sets reaches all before its result": async (room) => {
    const [a, b] = await tabs(room);
    assert.equal(await a.agent.call("add", [1, 2]), 3);
    assert.equal(await a.agent.stub.add(5, 6), 11);
    assert.equal(await a.agent.call("add", [1]), null);
    assert.equal(await a.agent.call("nothing"), undefined);
    const seen = a.agent.call("bump").then((result) => [result, a.received("cf_agent_state").at(-1).state]);
    assert.deepEqual(await seen, [{ count: 1 }, { count: 1 }]);
    await b.until("the state", () => b.agent.state.count === 1);
  },

  "call: what fails says why": async (room) => {
    const tab = await one(room);
    assert.equal(await fails(tab.agent.call("fail")), "nope");
    assert.equal(await fails(tab.agent.call("noSuch")), "Method noSuch does not exist");
    assert.match(await fails(tab.agent.call("notCallable")), /^Method notCallable (is not callable|does not exist)$/);
    assert.equal(await tab.agent.call("add", [1, 1]), 2);
  },

  "call: many at a time; a slow one holds up no other": async (room) => {
    const tab = await one(room);
    const order = [];
    const slow = tab.agent.call("slow").then((r) => order.push(r));
    const quick = Array.from({ length: 20 }, (_, i) => tab.agent.call("add", [i, i]).then((r) => order.push(r)));
    await Promise.all([slow, ...quick]);
    assert.deepEqual([...order].sort(), [...Array.from({ length: 20 }, (_, i) => 2 * i), "slow-done"].sort());
    assert.notEqual(order[0], "slow-done");
  },

  "call with stream: chunks in order, then the result": async (room) => {
    const tab = await one(room);
    const heard = [];
    const stream = { onChunk: (c) => heard.push(c), onDone: (r) => heard.push(["done", r]), onError: (e) => heard.push(["error", e]) };
    assert.deepEqual(await tab.agent.call("count", [3], { stream }), { total: 3 });
    assert.deepEqual(heard, [{ i: 0 }, { i: 1 }, { i: 2 }, ["done", { total: 3 }]]);
  },

  "call with stream: one that fails has said what it had": async (room) => {
    const tab = await one(room);
    for (const [method, text] of [["countErr", "stream failed"], ["countThrow", "threw mid stream"]]) {
      const heard = [];
      const stream = { onChunk: (c) => heard.push(c), onDone: () => heard.push("done"), onError: (e) => heard.push(e) };
      assert.equal(await fails(tab.agent.call(method, [], { stream })), text);
      assert.deepEqual(heard, [1, text]);
    }
  },

  "call with timeout, defaultCallTimeout: the page gives up; a late result does no harm": async (room) => {
    const tab = await one(room);
    assert.equal(await fails(tab.agent.call("slow", [], { timeout: 1 })), "RPC call to slow timed out after 1ms");
    await tab.until("the late result", () => tab.received("rpc").length === 1);
    assert.ok(warnings.some((w) => w.includes("Discarded an RPC response")));
    await tab.update({ agent: { defaultCallTimeout: 1 } });
    assert.equal(await fails(tab.agent.call("slow")), "RPC call to slow timed out after 1ms");
    await tab.update({ agent: { defaultCallTimeout: 0 } });
    assert.equal(await tab.agent.call("slow"), "slow-done");
  },

  "call: sent and cut off is an error; not yet sent waits for the socket": async (room) => {
    const tab = await one(room);
    const sent = fails(tab.agent.call("slow"));
    tab.cut();
    assert.equal(await sent, "Connection closed");
    await tab.until("to be offline", () => !tab.agent.identified);
    assert.equal(await tab.agent.call("add", [1, 2]), 3);
  },

  "send: a frame that is no protocol's goes to the agent, its answer to onMessage": async (room) => {
    const tab = await one(room);
    tab.agent.send("anything");
    await tab.until("the answer", () => tab.calls.onMessage.length);
    assert.deepEqual(JSON.parse(tab.calls.onMessage[0][0].data), { type: "user-onMessage", got: "anything" });
  },

  "a method of a chat agent begins a turn: every tab shows it": async (room) => {
    const a = await room.open().ready();
    const b = await room.openElsewhere().ready();
    await a.agent.call("triggerServerTurn", ["from the server"]);
    for (const tab of [a, b]) await tab.shows("user: from the server", "assistant: echo:from the server");
    for (const tab of [a, b]) assert.deepEqual((await tab.turnEnds(1)).map((e) => [e.outcome, e.messageIds]), [["completed", undefined]]);
  },
});

suite("useAgent, sub-agents", {
  "sub: the child answers, under its own name": async (room) => {
    const sub = [{ agent: "HelperAgent", name: "one two" }];
    const tab = await room.open({ agent: { sub } }).ready();
    assert.deepEqual([tab.agent.name, tab.agent.agent, tab.agent.path], ["one two", "helper-agent", [{ agent: "ChatAgent", name: room.name }, ...sub]]);
    tab.chat.sendMessage({ text: "script:text" });
    await tab.answers("Hello from the fake model.");
    assert.deepEqual(await room.stored(), []);
    tab.close();
    const again = await room.open({ agent: { sub } }).ready();
    assert.deepEqual(again.renders[0].lines, ["user: script:text", "assistant: Hello from the fake model."]);
  },

  "sub that the gate refuses: connectionError, for good": async (room) => {
    const tab = room.open({ agent: { agent, sub: [{ agent: "HelperAgent", name: "forbidden" }] }, chat: false });
    await tab.until("the error", () => tab.agent?.connectionError);
    const { code, reason } = tab.agent.connectionError;
    assert.deepEqual([code, reason, tab.sockets.length], [4403, "Sub-agent connection rejected (403)", 1]);
    assert.equal(tab.calls.onConnectionError.length, 1);
    assert.equal(await fails(tab.agent.call("add", [1, 1])), "Connection closed");
  },
});

suite("useAgentChat, overlapping messages", {
  "LatestAgent: what a newer message overtakes is skipped": async (room) => {
    const tab = await room.open({ agent: { agent: "LatestAgent" }, chat: { body: room.held() } }).ready();
    tab.chat.sendMessage({ text: "script:paced" });
    await tab.until("to stream", () => tab.chat.status === "streaming");
    const other = await room.openElsewhere({ agent: { agent: "LatestAgent" } }).ready();
    other.chat.sendMessage({ text: "overtaken" });
    await tab.until("the second message", () => tab.lines().includes("user: overtaken"));
    const third = await room.openElsewhere({ agent: { agent: "LatestAgent", query: { n: "3" } } }).ready();
    third.chat.sendMessage({ text: "the last" });
    await tab.until("the third message", () => tab.lines().includes("user: the last"));
    await room.release();
    await third.answers("echo:the last");
    const id = other.sent("cf_agent_use_chat_request")[0].id;
    await other.until("its end", () => other.calls.onTurnEnd.some(([e]) => e.requestId === id));
    assert.equal(other.calls.onTurnEnd.find(([e]) => e.requestId === id)[0].outcome, "skipped");
    assert.ok(!(await room.stored("latest-agent")).some((m) => room.textOf(m) === "echo:overtaken"));
  },

  "DropAgent: a message that comes too early is taken back": async (room) => {
    const a = await room.open({ agent: { agent: "DropAgent" }, chat: { body: room.held() } }).ready();
    a.chat.sendMessage({ text: "script:paced" });
    await a.until("to stream", () => a.chat.status === "streaming");
    const b = await room.openElsewhere({ agent: { agent: "DropAgent" } }).ready();
    b.chat.sendMessage({ text: "too early" });
    const id = () => b.sent("cf_agent_use_chat_request")[0]?.id;
    await b.until("its end", () => b.calls.onTurnEnd.some(([e]) => e.requestId === id()));
    assert.equal(b.calls.onTurnEnd.find(([e]) => e.requestId === id())[0].outcome, "skipped");
    await b.until("it to be gone", () => !b.lines().includes("user: too early"));
    await room.release();
    assert.equal((await a.turnEnds(1))[0].outcome, "completed");
    assert.equal((await room.stored("drop-agent")).length, 2);
  },
});
