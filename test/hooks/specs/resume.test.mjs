// Reload, lost connections and late tabs, as the hooks come through them.
import assert from "node:assert/strict";
import { WORDS, begun, paced, suite } from "../lib/suite.mjs";

const whole = paced("w", WORDS);
const acks = (tab) => tab.sent("cf_agent_stream_resume_ack").length;
const probes = (tab) => tab.sent("cf_agent_stream_resume_request").length;

/** A tab in the middle of the answer to its question, which stays there until room.release(). */
async function streaming(room, { agent, chat, body } = {}) {
  const tab = await room.open({ agent, chat: { body: room.held(body), ...chat } }).ready();
  tab.chat.sendMessage({ text: "script:paced" });
  await tab.until("the middle of the answer", () => tab.chat.status === "streaming" && begun(tab.says()));
  return tab;
}

/** Checks that tab shows the question and the whole answer, as the node has stored them. */
async function complete(room, tab) {
  await tab.answers(whole);
  const stored = await room.stored();
  assert.deepEqual(tab.chat.messages.map((m) => m.id), stored.map((m) => m.id));
  assert.deepEqual(tab.lines(), ["user: script:paced", `assistant: ${whole}`]);
  assert.equal(tab.chat.error, undefined);
}

suite("resume", {
  "a reload in the middle of an answer: the page joins it and shows all of it": async (room) => {
    (await streaming(room)).close();
    const tab = room.open();
    await tab.until("the first render", () => tab.chat);
    assert.deepEqual(tab.renders[0].lines, ["user: script:paced"]);
    await tab.until("to stream", () => tab.chat.status === "streaming" && begun(tab.says()));
    await room.release();
    await complete(room, tab);
    assert.deepEqual((await tab.turnEnds(1)).map((e) => [e.outcome, e.messageIds]), [["completed", [tab.chat.messages[0].id]]]);
    assert.equal(acks(tab), 1);
  },

  "a reload before an answer begins: the page waits and shows it": async (room) => {
    const first = await room.open({ chat: { body: room.held({ holdAt: 0 }) } }).ready();
    first.chat.sendMessage({ text: "script:paced" });
    await first.until("submitted", () => first.sent("cf_agent_use_chat_request").length);
    await first.fence();
    first.close();
    const tab = room.open();
    await tab.until("the news that it is pending", () => tab.received("cf_agent_stream_pending").length);
    await room.release();
    await complete(room, tab);
  },

  "a late tab in the middle of an answer: all of it, like the tab that asked": async (room) => {
    const a = await streaming(room);
    const b = await room.openElsewhere().ready();
    await b.until("to see as much", () => begun(b.says()));
    await room.release();
    for (const tab of [a, b]) await complete(room, tab);
    assert.deepEqual([a.calls.onFinish.length, b.calls.onTurnEnd.length], [1, 1]);
  },

  "a cut in the middle of an answer: an error at first, then all of it without a reload": async (room) => {
    const tab = await streaming(room);
    tab.cut();
    await tab.until("the error", () => tab.renders.some((r) => r.status === "error" && r.error === "WebSocket closed mid-stream"));
    await tab.until("to stream again", () => tab.chat.status === "streaming" && begun(tab.says()));
    await room.release();
    await complete(room, tab);
    assert.deepEqual((await tab.turnEnds(1)).map((e) => e.outcome), ["completed"]);
    assert.equal(tab.sockets.length, 2);
    assert.equal((await room.stored()).length, 2);
  },

  "a cut of a tab that watches: all of it": async (room) => {
    const b = await room.openElsewhere().ready();
    const a = await streaming(room);
    await b.until("to see it", () => b.chat.isServerStreaming && begun(b.says()));
    b.cut();
    await b.until("to be back", () => b.sockets.length === 2 && b.chat.status === "streaming" && begun(b.says()));
    await room.release();
    for (const tab of [a, b]) await complete(room, tab);
  },

  "a cut, and the answer ends meanwhile: all of it when the socket is back": async (room) => {
    const tab = await streaming(room);
    const away = tab.leave();
    await room.release();
    await complete(room, await room.openElsewhere().ready());
    assert.equal(tab.sockets.length, 1);
    away.end();
    await complete(room, tab);
  },

  "a cut of a tab that watches, and the next answer runs when it is back: it shows both, and is idle in the end": async (room) => {
    const b = await room.openElsewhere().ready();
    const a = await streaming(room);
    await b.until("to see it", () => b.chat.isServerStreaming && begun(b.says()));
    const away = b.leave();
    await room.release();
    await a.answers(whole);
    a.chat.sendMessage({ text: "script:paced" }, { body: room.held({ word: "fig", hold: `${room.name}-2` }) });
    await a.until("the next answer", () => a.says().startsWith("fig.0/"));
    away.end();
    await b.until("to join the next answer", () => b.says().startsWith("fig.0/"));
    await room.release(`${room.name}-2`);
    for (const tab of [a, b]) {
      await tab.answers(paced("fig", WORDS));
      assert.deepEqual(tab.lines(), ["user: script:paced", `assistant: ${whole}`, "user: script:paced", `assistant: ${paced("fig", WORDS)}`]);
      assert.deepEqual((await tab.turnEnds(2)).map((e) => e.outcome), ["completed", "completed"]);
    }
  },

  "a message that is typed while the socket is away: sent once, kept, answered": async (room) => {
    const tab = await room.open().ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    const away = tab.leave();
    await tab.until("to be offline", () => !tab.agent.identified);
    tab.chat.sendMessage({ text: "typed offline" });
    await tab.until("to show it", () => tab.lines().includes("user: typed offline"));
    away.end();
    await tab.shows("user: hello", "assistant: echo:hello", "user: typed offline", "assistant: echo:typed offline");
    assert.equal((await room.stored()).length, 4);
    assert.equal(tab.bodies().length, 2);
  },

  "an error that nobody saw: told to the next page, with what had been said; the next message ends it": async (room) => {
    (await streaming(room, { body: { fail: true } })).close();
    await room.release();
    const last = await room.openElsewhere().ready();
    await last.until("the error", () => last.chat.status === "error" && last.chat.error.message === "w has failed");
    const late = await room.open().ready();
    await late.until("the error", () => late.chat.status === "error" && late.chat.error.message === "w has failed");
    await late.until("what was said", () => late.lines()[1] === `assistant: ${whole}`);
    assert.deepEqual((await late.turnEnds(1)).map((e) => [e.outcome, e.error]), [["error", "w has failed"]]);
    assert.equal(late.calls.onChatError.length, 1);
    late.chat.sendMessage({ text: "hello" });
    await late.answers("echo:hello");
    const after = await room.openElsewhere({ agent: { query: { n: "2" } } }).ready();
    await after.until("no error", () => after.idle() && after.lines().length === 4);
    assert.equal(after.chat.error, undefined);
  },

  "onData after a reload: what the stream has shown so far, a transient part too": async (room) => {
    const first = await streaming(room, { body: { data: { n: 1 }, toast: { t: 2 } } });
    assert.deepEqual(first.calls.onData.map(([d]) => [d.type, d.data]), [["data-paced", { n: 1 }], ["data-toast", { t: 2 }]]);
    first.close();
    const tab = room.open();
    await tab.until("the middle of the answer", () => tab.chat && begun(tab.says()));
    await room.release();
    await complete(room, tab);
    assert.deepEqual(tab.calls.onData.map(([d]) => [d.type, d.data]), [["data-paced", { n: 1 }], ["data-toast", { t: 2 }]]);
    for (const message of [tab.chat.messages[1], (await room.stored())[1]]) {
      assert.deepEqual(message.parts.filter((p) => p.type.startsWith("data-")), [{ type: "data-paced", data: { n: 1 } }]);
    }
  },

  "resume false: a page does not join; it gets the answer when it has ended": async (room) => {
    const a = await streaming(room);
    const b = await room.openElsewhere({ chat: { resume: false } }).ready();
    await b.until("the offer", () => b.received("cf_agent_stream_resuming").length);
    await room.release();
    for (const tab of [a, b]) await complete(room, tab);
    assert.deepEqual([probes(b), acks(b)], [0, 0]);
    assert.deepEqual(b.received("cf_agent_use_chat_response").map((f) => f.done), [true]);
    assert.deepEqual((await b.turnEnds(1)).map((e) => e.outcome), ["completed"]);
    b.chat.sendMessage({ text: "hello" });
    for (const tab of [a, b]) await tab.answers("echo:hello");
  },

  "resume false: after a cut in one's own answer the page asks once and shows the end": async (room) => {
    const tab = await streaming(room, { chat: { resume: false } });
    tab.cut();
    await tab.until("the offer", () => tab.received("cf_agent_stream_resuming").length);
    await room.release();
    await tab.until("the end of the turn", () => tab.calls.onTurnEnd.length && tab.says() === whole);
    assert.deepEqual([probes(tab), acks(tab)], [1, 0]);
    tab.chat.clearError();
    await complete(room, tab);
  },

  "resumeStream: a page that does not join by itself joins when it says so": async (room) => {
    const a = await streaming(room);
    const b = await room.openElsewhere({ chat: { resume: false } }).ready();
    await b.until("the offer", () => b.received("cf_agent_stream_resuming").length);
    b.chat.resumeStream();
    await b.until("to stream", () => b.chat.status === "streaming" && begun(b.says()));
    await room.release();
    for (const tab of [a, b]) await complete(room, tab);
    assert.equal(acks(b), 1);
  },

  "resumeStream while nothing goes on: ready again": async (room) => {
    const tab = await room.open({ chat: { resume: false } }).ready();
    await tab.chat.resumeStream();
    await tab.until("ready", () => tab.chat.status === "ready");
    assert.deepEqual(tab.received("cf_agent_stream_resume_none").map((f) => f.reason), ["idle"]);
  },

  "stop in a tab that has joined: the answer ends for all": async (room) => {
    const a = await streaming(room);
    const b = await room.openElsewhere().ready();
    await b.until("to have joined", () => b.chat.status === "streaming" && begun(b.says()));
    await b.chat.stop();
    for (const tab of [a, b]) {
      assert.equal((await tab.turnEnds(1))[0].outcome, "aborted");
      await tab.until("to be idle", () => tab.idle());
    }
    assert.equal(b.sent("cf_agent_chat_request_cancel").length, 1);
    const stored = await room.stored();
    assert.ok(begun(room.textOf(stored[1])));
    await a.until("what is stored", () => a.says() === room.textOf(stored[1]));
  },
});
