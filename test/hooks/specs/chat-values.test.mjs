// What a node does for each value of useAgentChat that needs no tools, and what its callbacks hear.
import assert from "node:assert/strict";
import { ai, warnings } from "../lib/browser.mjs";
import { WORDS, begun, paced, suite } from "../lib/suite.mjs";

const user = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
const ids = (messages) => messages.map((m) => m.id);

const whole = paced("w", WORDS);

async function tabs(room, chat) {
  return Promise.all([room.open({ chat }).ready(), room.openElsewhere({ chat }).ready()]);
}

async function hello(tab) {
  tab.chat.sendMessage({ text: "hello" });
  await tab.shows("user: hello", "assistant: echo:hello");
}

/** The statuses that the hook went through, without repetitions. */
const statuses = (tab) => tab.renders.map((r) => r.status).filter((s, i, all) => s !== all[i - 1]);
const everTrue = (tab, flag) => tab.renders.some((r) => r[flag]);

suite("useAgentChat, values", {
  "messages: two tabs and the node agree after each tab has asked": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    await b.shows("user: hello", "assistant: echo:hello");
    b.chat.sendMessage({ text: "from b" });
    for (const tab of [a, b]) await tab.shows("user: hello", "assistant: echo:hello", "user: from b", "assistant: echo:from b");
    assert.deepEqual(ids(a.chat.messages), ids(b.chat.messages));
    assert.deepEqual(ids(await room.stored()), ids(a.chat.messages));
  },

  "two tabs ask at the same time: both are answered, and all agree": async (room) => {
    const [a, b] = await tabs(room, { body: { words: 5 } });
    a.chat.sendMessage({ text: "script:paced a" });
    b.chat.sendMessage({ text: "script:paced b" });
    const both = (tab) => tab.idle() && tab.lines().filter((l) => l === `assistant: ${paced("w", 5)}`).length === 2;
    for (const tab of [a, b]) await tab.until("both answers", both);
    for (const tab of [a, b]) await tab.turnEnds(2);
    const stored = ids(await room.stored());
    assert.equal(stored.length, 4);
    for (const tab of [a, b]) assert.deepEqual(ids(tab.chat.messages).sort(), [...stored].sort());
    for (const tab of [a, b]) assert.deepEqual(tab.calls.onTurnEnd.map(([e]) => e.outcome), ["completed", "completed"]);
  },

  "status: submitted until the answer begins, then streaming, then ready": async (room) => {
    const tab = await room.open({ chat: { body: room.held({ holdAt: 0 }) } }).ready();
    tab.chat.sendMessage({ text: "script:paced" });
    await tab.until("submitted", () => tab.chat.status === "submitted" && tab.sent("cf_agent_use_chat_request").length);
    assert.deepEqual(tab.received("cf_agent_use_chat_response"), []);
    await room.release();
    await tab.answers(whole);
    tab.chat.sendMessage({ text: "script:paced" }, { body: room.held({ hold: `${room.name}-2` }) });
    await tab.until("streaming", () => tab.chat.status === "streaming" && begun(tab.says()));
    await room.release(`${room.name}-2`);
    await tab.answers(whole);
    assert.deepEqual(statuses(tab).slice(0, 2), ["ready", "submitted"]);
    assert.deepEqual(statuses(tab).slice(-2), ["streaming", "ready"]);
  },

  "isStreaming and isServerStreaming: one's own turn, and another tab's": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await a.until("to stream", () => a.chat.isStreaming && begun(a.says()));
    await b.until("to see the stream", () => b.chat.isServerStreaming && b.chat.isStreaming && begun(b.says()));
    await room.release();
    for (const tab of [a, b]) await tab.answers(whole);
    assert.deepEqual([everTrue(a, "isStreaming"), everTrue(a, "isServerStreaming")], [true, false]);
    assert.deepEqual(statuses(b), ["ready"]);
    for (const tab of [a, b]) assert.deepEqual([tab.chat.isStreaming, everTrue(tab, "isToolContinuation"), everTrue(tab, "isRecovering")], [false, false, false]);
  },

  "error, onError, clearError: a handler that fails; what comes after is answered": async (room) => {
    const [a, b] = await tabs(room, { body: { words: 3, word: "fig", fail: true } });
    a.chat.sendMessage({ text: "script:paced" });
    await a.until("the error", () => a.chat.status === "error");
    assert.equal(a.chat.error.message, "fig has failed");
    assert.deepEqual(a.calls.onChatError.map(([e]) => e.message), ["fig has failed"]);
    await b.until("the end in b", () => b.calls.onTurnEnd.length && !b.chat.isServerStreaming);
    assert.deepEqual([b.chat.status, b.chat.error, b.calls.onChatError], ["ready", undefined, []]);
    a.chat.clearError();
    await a.until("ready", () => a.chat.status === "ready" && !a.chat.error);
    a.chat.sendMessage({ text: "hello" });
    for (const tab of [a, b]) await tab.answers("echo:hello");
  },

  "error: what a handler's own fault says stays in the node": async (room) => {
    const tab = await room.open().ready();
    tab.chat.sendMessage({ text: "script:throw" });
    await tab.until("the error", () => tab.chat.status === "error");
    assert.ok(tab.chat.error.message);
    assert.ok(!JSON.stringify(tab.frames).includes("onChatMessage threw"));
  },

  "error: an error chunk of the model; what it had said is kept": async (room) => {
    const tab = await room.open().ready();
    tab.chat.sendMessage({ text: "script:modelerror" });
    await tab.until("the error", () => tab.chat.status === "error" && tab.says() === "partial");
    assert.equal(tab.chat.error.message, "An error occurred.");
    const [end] = await tab.turnEnds(1);
    assert.deepEqual([end.outcome, end.error], ["error", "An error occurred."]);
    assert.equal(room.textOf((await room.stored())[1]), "partial");
  },

  "onTurnEnd: completed, in both tabs, with the ids of the messages": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    for (const tab of [a, b]) {
      const ends = await tab.turnEnds(1);
      const requestId = a.sent("cf_agent_use_chat_request")[0].id;
      assert.deepEqual(ends, [{ requestId, messageIds: [a.chat.messages[0].id], outcome: "completed", replay: false }]);
    }
  },

  "onTurnEnd: error, in both tabs": async (room) => {
    const [a, b] = await tabs(room, { body: { words: 1, word: "fig", fail: true } });
    a.chat.sendMessage({ text: "script:paced" });
    for (const tab of [a, b]) {
      const [end] = await tab.turnEnds(1);
      assert.deepEqual([end.outcome, end.error, end.messageIds], ["error", "fig has failed", [a.chat.messages[0].id]]);
    }
  },

  "onTurnEnd: skipped, for a turn that waits when the conversation is cleared": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await a.until("to stream", () => a.chat.status === "streaming");
    b.chat.sendMessage({ text: "waits" });
    await b.until("to wait", () => b.chat.status === "submitted");
    await a.until("the other's message", () => a.lines().includes("user: waits"));
    const waiting = b.sent("cf_agent_use_chat_request")[0];
    a.chat.clearHistory();
    const ends = await b.turnEnds(2);
    assert.deepEqual(ends.map((e) => e.outcome).sort(), ["aborted", "skipped"]);
    assert.equal(ends.find((e) => e.outcome === "skipped").requestId, waiting.id);
    await b.shows();
    assert.deepEqual(await room.stored(), []);
  },

  "onTurnEnd may send: the next message is answered": async (room) => {
    let sent = false;
    const onTurnEnd = () => sent || ((sent = true), tab.chat.sendMessage({ text: "next" }));
    const tab = await room.open({ chat: { onTurnEnd } }).ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.shows("user: hello", "assistant: echo:hello", "user: next", "assistant: echo:next");
  },

  "onFinish: in the tab that asked; the reason is in the metadata": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    await a.until("onFinish", () => a.calls.onFinish.length);
    const [{ message, messages, isAbort, isDisconnect, isError }] = a.calls.onFinish[0];
    assert.deepEqual([message.metadata, isAbort, isDisconnect, isError], [{ finishReason: "stop" }, false, false, false]);
    assert.deepEqual(ids(messages), ids(a.chat.messages));
    await b.turnEnds(1);
    assert.deepEqual(b.calls.onFinish, []);
    assert.deepEqual((await room.stored())[1].metadata, { finishReason: "stop" });
  },

  "onFinish: after stop, an abort": async (room) => {
    const tab = await room.open({ chat: { body: room.held() } }).ready();
    tab.chat.sendMessage({ text: "script:paced" });
    await tab.until("to stream", () => begun(tab.says()));
    await tab.chat.stop();
    await tab.until("onFinish", () => tab.calls.onFinish.length);
    const [{ isAbort, isDisconnect, isError }] = tab.calls.onFinish[0];
    assert.deepEqual([isAbort, isDisconnect, isError], [true, false, false]);
  },

  "onData: every data part, in both tabs; a transient one is not kept": async (room) => {
    const [a, b] = await tabs(room);
    a.chat.sendMessage({ text: "script:data" });
    for (const tab of [a, b]) {
      await tab.answers("ok");
      assert.deepEqual(tab.calls.onData.map(([d]) => d.type), ["data-progress", "data-progress", "data-note", "data-note", "data-toast", "data-progress"]);
      assert.deepEqual(tab.calls.onData.map(([d]) => d.data.pct).filter((pct) => pct !== undefined), [0, 50, 100]);
      const parts = tab.chat.messages[1].parts.filter((p) => p.type.startsWith("data-"));
      assert.deepEqual(parts.map((p) => [p.type, p.data.pct ?? p.data.text]), [["data-progress", 100], ["data-note", "no id, appended"], ["data-note", "second, appended"]]);
    }
    assert.deepEqual((await room.stored())[1].parts.filter((p) => p.type.startsWith("data-")), a.chat.messages[1].parts.filter((p) => p.type.startsWith("data-")));
  },

  "clearHistory: empty here, there and in the node; what comes after is new": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    await b.shows("user: hello", "assistant: echo:hello");
    a.chat.clearHistory();
    for (const tab of [a, b]) await tab.shows();
    await a.fence();
    assert.deepEqual(await room.stored(), []);
    b.chat.sendMessage({ text: "anew" });
    for (const tab of [a, b]) await tab.shows("user: anew", "assistant: echo:anew");
    assert.equal((await room.stored()).length, 2);
  },

  "clearHistory in the middle of an answer: it ends for all, nothing of it is kept": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await b.until("to see it", () => begun(b.says()));
    b.chat.clearHistory();
    for (const tab of [a, b]) assert.equal((await tab.turnEnds(1))[0].outcome, "aborted");
    await a.shows();
    await a.fence();
    assert.deepEqual(a.lines(), []);
    assert.deepEqual(await room.stored(), []);
    // Chunks that were on their way stay in the tab that cleared: it gets no echo that could wipe what it sends next.
    b.close();
    const again = await room.openElsewhere().ready();
    await again.shows();
  },

  "setMessages: a list is put in, here, there and in the node; nothing stored is deleted": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    await b.shows("user: hello", "assistant: echo:hello");
    a.chat.setMessages([user("m1", "one"), user("m2", "two")]);
    for (const tab of [a, b]) await tab.shows("user: one", "user: two");
    a.chat.sendMessage({ text: "three" });
    await a.shows("user: one", "user: two", "user: three", "assistant: echo:three");
    const all = ["user: hello", "assistant: echo:hello", "user: one", "user: two", "user: three", "assistant: echo:three"];
    await b.shows(...all);
    assert.deepEqual((await room.stored()).map((m) => `${m.role}: ${room.textOf(m)}`), all);
  },

  "setMessages: a function gets what is shown": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    a.chat.setMessages((now) => now.map((m) => (m.role === "user" ? { ...m, parts: [{ type: "text", text: "changed" }] } : m)));
    for (const tab of [a, b]) await tab.shows("user: changed", "assistant: echo:hello");
    assert.deepEqual((await room.stored()).map(room.textOf), ["changed", "echo:hello"]);
  },

  "sendMessage: parts, files and metadata are stored and reach the other tab": async (room) => {
    const [a, b] = await tabs(room);
    const file = { type: "file", mediaType: "image/png", filename: "dot.png", url: "data:image/png;base64,iVBORw0KGgo=" };
    a.chat.sendMessage({ parts: [{ type: "text", text: "look" }, file], metadata: { mood: "good" } });
    for (const tab of [a, b]) {
      await tab.shows("user: look", "assistant: echo:look");
      const [{ parts, metadata }] = tab.chat.messages;
      assert.deepEqual([parts, metadata], [[{ type: "text", text: "look" }, file], { mood: "good" }]);
    }
    a.chat.sendMessage({ text: "again", files: [file] });
    await a.answers("echo:again");
    const [m0, , m2] = await room.stored();
    assert.deepEqual([m0.parts[1], m0.metadata, m2.parts], [file, { mood: "good" }, [file, { type: "text", text: "again" }]]);
  },

  "sendMessage with options.body: for this request alone": async (room) => {
    const tab = await room.open().ready();
    tab.chat.sendMessage({ text: "script:paced" }, { body: { word: "fig", words: 2 } });
    await tab.answers(paced("fig", 2));
    tab.chat.sendMessage({ text: "script:paced" });
    await tab.answers(paced("w", 10));
  },

  "sendMessage with messageId: an earlier message is changed, what followed it is gone": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    a.chat.sendMessage({ text: "second" });
    await a.answers("echo:second");
    const first = a.chat.messages[0].id;
    a.chat.sendMessage({ text: "other", messageId: first });
    for (const tab of [a, b]) await tab.shows("user: other", "assistant: echo:other");
    assert.equal(a.bodies().at(-1).trigger, "submit-message");
    assert.deepEqual((await room.stored()).map((m) => [m.role, room.textOf(m)]), [["user", "other"], ["assistant", "echo:other"]]);
    assert.equal((await room.stored())[0].id, first);
  },

  "regenerate: the last answer is replaced by a new one": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    const before = ids(a.chat.messages);
    a.chat.regenerate();
    for (const tab of [a, b]) await tab.until("another answer", () => tab.idle() && tab.says() === "echo:hello" && tab.chat.messages.at(-1).id !== before[1]);
    assert.equal(a.bodies().at(-1).trigger, "regenerate-message");
    for (const tab of [a, b]) assert.deepEqual([tab.chat.messages.length, tab.chat.messages[0].id], [2, before[0]]);
    assert.deepEqual(ids(await room.stored()), ids(a.chat.messages));
  },

  "regenerate with messageId: an earlier answer anew, what followed it is gone": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    const answer = a.chat.messages[1].id;
    a.chat.sendMessage({ text: "second" });
    await a.answers("echo:second");
    a.chat.regenerate({ messageId: answer });
    for (const tab of [a, b]) await tab.shows("user: hello", "assistant: echo:hello");
    assert.notEqual(a.chat.messages[1].id, answer);
    assert.deepEqual(ids(await room.stored()), ids(a.chat.messages));
  },

  "stop in the tab that asked: the answer ends for all, what was said is kept": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await b.until("to see it", () => begun(b.says()));
    await a.until("to stream", () => begun(a.says()));
    await a.chat.stop();
    for (const tab of [a, b]) {
      const [end] = await tab.turnEnds(1);
      assert.deepEqual([end.outcome, end.messageIds], ["aborted", [a.chat.messages[0].id]]);
      await tab.until("to be idle", () => tab.idle() && !tab.chat.error);
    }
    const stored = room.textOf((await room.stored())[1]);
    assert.ok(begun(stored), stored);
    assert.ok(b.says() === stored && stored.startsWith(a.says()), `${a.says()} | ${b.says()} | ${stored}`);
    a.chat.sendMessage({ text: "hello" });
    for (const tab of [a, b]) await tab.answers("echo:hello");
  },

  "stop of a turn that waits for its slot: it does not run": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await a.until("to stream", () => a.chat.status === "streaming");
    b.chat.sendMessage({ text: "waits" });
    await a.until("the other's message", () => a.lines().includes("user: waits"));
    await b.chat.stop();
    const [end] = await a.turnEnds(1);
    assert.deepEqual([end.requestId, end.outcome], [b.sent("cf_agent_use_chat_request")[0].id, "aborted"]);
    assert.equal(a.chat.status, "streaming");
    await a.chat.stop();
    await a.turnEnds(2);
    for (const tab of [a, b]) await tab.until("one answer", () => tab.idle() && tab.lines().filter((l) => l.startsWith("assistant: w.0/")).length === 1);
    assert.deepEqual((await room.stored()).map((m) => m.role).sort(), ["assistant", "user", "user"]);
  },

  "stop in a tab that only watches: the answer goes on": async (room) => {
    const [a, b] = await tabs(room, { body: room.held() });
    a.chat.sendMessage({ text: "script:paced" });
    await b.until("to see it", () => b.chat.isServerStreaming && begun(b.says()));
    await b.chat.stop();
    await room.release();
    for (const tab of [a, b]) await tab.answers(whole);
    assert.deepEqual(b.sent("cf_agent_chat_request_cancel"), []);
  },

  "addToolOutput, addToolResult, addToolApprovalResponse for calls that nobody made: nothing happens": async (room) => {
    const [a, b] = await tabs(room);
    await hello(a);
    await b.shows("user: hello", "assistant: echo:hello");
    const before = await room.stored();
    a.chat.addToolOutput({ toolCallId: "no-such-call", toolName: "none", output: 1 });
    const answers = (n) => a.idle() && !a.chat.isToolContinuation && a.received("cf_agent_stream_resume_none").length === n;
    await a.until("to ask for a continuation and hear that there is none", () => answers(2));
    a.chat.addToolOutput({ toolCallId: "no-such-call", state: "output-error", errorText: "no" });
    a.chat.addToolResult({ tool: "none", toolCallId: "no-such-call", output: 1 });
    await a.until("three results", () => a.sent("cf_agent_tool_result").length === 3);
    await a.until("to ask again", () => answers(3));
    a.chat.addToolApprovalResponse({ id: "no-such-approval", approved: true });
    assert.ok(warnings.some((w) => w.includes("no-such-approval")));
    assert.deepEqual(a.sent("cf_agent_tool_approval"), []);
    await b.fence();
    for (const tab of [a, b]) assert.deepEqual([tab.lines(), tab.chat.error], [["user: hello", "assistant: echo:hello"], undefined]);
    assert.deepEqual(await room.stored(), before);
    a.chat.sendMessage({ text: "on" });
    for (const tab of [a, b]) await tab.answers("echo:on");
  },

  "plain text, exotic parts, no answer: what each tab shows is what the node has stored": async (room) => {
    const [a, b] = await tabs(room);
    for (const script of ["plain", ...(ai === 7 ? ["exotic"] : []), "reasoning", "none", "nobody"]) {
      for (const tab of [a, b]) tab.calls.onTurnEnd.length = 0;
      a.chat.sendMessage({ text: `script:${script}` });
      for (const tab of [a, b]) assert.equal((await tab.turnEnds(1))[0].outcome, "completed", script);
      const stored = await room.stored();
      for (const tab of [a, b]) await tab.until(`what is stored of ${script}`, () => tab.idle() && same(ids(tab.chat.messages), ids(stored)) && same(tab.chat.messages.map(kinds), stored.map(kinds)));
      assert.equal(stored.length, { plain: 2, exotic: 2, reasoning: 2, none: 1, nobody: 1 }[script], script);
      a.chat.clearHistory();
      for (const tab of [a, b]) await tab.shows();
    }
  },

  ...(ai === 7 && {
    // With cancelOnClientAbort, since what is sent now only leaves the answer before it.
    "experimental_queue: what is sent meanwhile goes out one by one, some of it sooner or not at all": async (room) => {
      const tab = await room.open({ chat: { experimental_queue: true, cancelOnClientAbort: true, body: room.held() } }).ready();
      tab.chat.sendMessage({ text: "script:paced" });
      await tab.until("to stream", () => begun(tab.says()));
      for (const text of ["one", "two", "three"]) tab.chat.sendMessage({ text });
      await tab.until("three in the queue", () => tab.chat.experimental_queuedMessages.length === 3);
      assert.equal(tab.bodies().length, 1);
      const [, two, three] = ids(tab.chat.experimental_queuedMessages);
      tab.chat.experimental_removeQueuedMessage(two);
      tab.chat.experimental_sendQueuedMessageNow(three);
      await tab.until("all answers", () => tab.idle() && tab.says() === "echo:one");
      assert.deepEqual(tab.lines().slice(2), ["user: three", "assistant: echo:three", "user: one", "assistant: echo:one"]);
      assert.deepEqual((await tab.turnEnds(3)).map((e) => e.outcome), ["aborted", "completed", "completed"]);
      assert.deepEqual(ids(await room.stored()), ids(tab.chat.messages));
    },
  }),
});

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const kinds = (m) => m.parts.map((p) => p.type);
