// Tools of the page: what a node does for tools, onToolCall, addToolOutput and the options about what comes behind a result.
import assert from "node:assert/strict";
import { lastAssistantMessageIsCompleteWithToolCalls } from "../lib/browser.mjs";
import { suite } from "../lib/suite.mjs";
import { answering, callIs, callParts, gist, lastCall, pageTool } from "../lib/tools.mjs";

/** The tabs and the node have the same conversation, of n messages. */
async function agree(room, tabs, n) {
  const stored = gist(await room.stored());
  assert.equal(stored.length, n, JSON.stringify(stored));
  for (const tab of tabs) await tab.until("what is stored", () => tab.idle() && JSON.stringify(gist(tab.chat.messages)) === JSON.stringify(stored));
}

suite("useAgentChat, tools of the page", {
  "tools: the model is offered those of the page, in this turn and those that continue it": async (room) => {
    const tools = { getLocation: pageTool("where"), getTimezone: pageTool() };
    const tab = await room.open({ chat: { tools } }).ready();
    tab.chat.sendMessage({ text: "script:offered" });
    await tab.until("the answer", () => tab.idle() && tab.says().startsWith("offered: "));
    for (const name of Object.keys(tools)) assert.ok(tab.says().split(" ").includes(name), tab.says());
    assert.deepEqual(tab.bodies()[0].clientTools.map((t) => [t.name, t.description]), [["getLocation", "where"], ["getTimezone", "x"]]);
    await tab.update({ chat: { tools: undefined } });
    tab.chat.sendMessage({ text: "script:offered" });
    await tab.until("the second answer", () => tab.idle() && tab.chat.messages.length === 4 && tab.says().startsWith("offered: "));
    assert.ok(!tab.says().includes("getLocation"), tab.says());
  },

  "onToolCall: called once behind the stream; its result continues the same message, in all tabs": async (room) => {
    const { got, chat } = answering();
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    assert.deepEqual(got, [{ toolCallId: "call_l1", toolName: "getLocation", input: { accuracy: "high" } }]);
    for (const tab of [a, b]) assert.deepEqual(lastCall(tab).output, { city: "Oslo" });
    await agree(room, [a, b], 2);
    assert.deepEqual((await a.turnEnds(2)).map((e) => e.outcome), ["completed", "completed"]);
  },

  "onToolCall in two pages: both get the call, the first answer counts, and there is one continuation": async (room) => {
    const pages = [answering(null), answering(null)];
    const a = await room.open({ chat: pages[0].chat }).ready();
    const b = await room.openElsewhere({ chat: pages[1].chat }).ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const [i, tab] of [a, b].entries()) await tab.until("the call", () => pages[i].got.length === 1);
    for (const [i, tab] of [a, b].entries()) tab.chat.addToolOutput({ toolCallId: "call_l1", toolName: "getLocation", output: `from ${i}` });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    const stored = callParts((await room.stored())[1]);
    assert.equal(stored.length, 1);
    assert.match(stored[0].output, /^from [01]$/);
    await agree(room, [a, b], 2);
    assert.equal((await b.turnEnds(2)).length, 2);
  },

  "onToolCall: two calls of one step, one continuation behind the second result": async (room) => {
    const { got, chat } = answering(null);
    const tab = await room.open({ chat }).ready();
    tab.chat.sendMessage({ text: "script:twoclient" });
    await callIs(tab, "input-available", "call_b");
    await tab.until("both calls", () => got.length === 2);
    tab.chat.addToolOutput({ toolCallId: "call_b", toolName: "getTimezone", output: "CET" });
    await tab.until("the first result to be stored", () => tab.received("cf_agent_message_updated").length > 0);
    assert.ok(!tab.says().includes("Oslo"));
    tab.chat.addToolOutput({ toolCallId: "call_a", toolName: "getLocation", output: "Oslo" });
    await tab.answers("Oslo, CET.");
    await agree(room, [tab], 2);
    assert.equal((await tab.turnEnds(2)).length, 2);
  },

  "onToolCall: a reloaded page gets the call that the old one has left": async (room) => {
    const left = answering(null);
    const old = await room.open({ chat: left.chat }).ready();
    old.chat.sendMessage({ text: "script:clienttool" });
    await old.until("the call", () => left.got.length === 1);
    old.close();
    const { got, chat } = answering();
    const tab = await room.openElsewhere({ chat }).ready();
    await tab.answers("Let me check.You are in Oslo.");
    assert.equal(got.length, 1);
    await agree(room, [tab], 2);
  },

  "addToolOutput from a tab that has not asked": async (room) => {
    const a = await room.open({ chat: answering(null).chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    await callIs(b, "input-available");
    b.chat.addToolOutput({ toolCallId: "call_l1", toolName: "getLocation", output: "Bergen" });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    assert.equal(lastCall(a).output, "Bergen");
    await agree(room, [a, b], 2);
  },

  "addToolOutput with state output-error: stored with its text, nothing goes on before the page says so": async (room) => {
    const { chat } = answering({ state: "output-error", errorText: "permission denied" });
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:tellresults" });
    for (const tab of [a, b]) await callIs(tab, "output-error");
    assert.equal(lastCall(b).errorText, "permission denied");
    await a.fence();
    assert.deepEqual(a.calls.onTurnEnd.length, 1);
    assert.equal((await room.stored()).length, 2);
    a.chat.sendMessage();
    await b.until("the answer", () => b.idle() && b.says().startsWith("told: "));
    assert.match(b.says(), /permission denied/);
  },

  "autoContinueAfterToolResult false: the result is stored; sendMessage() has it answered in a new message": async (room) => {
    const { chat } = answering(undefined, { autoContinueAfterToolResult: false });
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const tab of [a, b]) await callIs(tab, "output-available");
    await b.fence();
    assert.deepEqual((await room.stored()).length, 2);
    assert.deepEqual(b.calls.onTurnEnd.length, 1);
    assert.ok(!a.renders.some((r) => r.isToolContinuation));
    a.chat.sendMessage();
    await b.until("the answer", () => b.idle() && b.chat.messages.length === 3 && b.says() === "You are in Oslo.");
    await agree(room, [b], 3);
  },

  "sendAutomaticallyWhen: the page itself goes on when all calls are answered": async (room) => {
    const more = { autoContinueAfterToolResult: false, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls };
    const { chat } = answering(undefined, more);
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    await b.until("the answer", () => b.idle() && b.chat.messages.length === 3 && b.says() === "You are in Oslo.");
    await agree(room, [b], 3);
    assert.deepEqual(a.bodies().length, 2);
  },

  "isToolContinuation: in the tab that has answered, from its answer to the end of the continuation": async (room) => {
    const { chat } = answering();
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    await a.until("its end", () => !a.chat.isToolContinuation);
    const flags = a.renders.map((r) => r.isToolContinuation).filter((f, i, all) => f !== all[i - 1]);
    assert.deepEqual(flags, [false, true, false]);
    assert.ok(!b.renders.some((r) => r.isToolContinuation));
  },

  "a tool of the node's: its call, preliminary results and result are seen in all tabs": async (room) => {
    const a = await room.open({ chat: { throttle: false } }).ready();
    const b = await room.openElsewhere({ chat: { throttle: false } }).ready();
    a.chat.sendMessage({ text: "script:prelim" });
    for (const tab of [a, b]) await tab.answers("Done.");
    for (const tab of [a, b]) assert.deepEqual(lastCall(tab).output, { pct: 100, ok: true });
    await agree(room, [a, b], 2);
    const chunks = b.received("cf_agent_use_chat_response").filter((f) => f.body).map((f) => JSON.parse(f.body)).filter((c) => c.type === "tool-output-available");
    assert.deepEqual(chunks.map((c) => [c.output.pct, c.preliminary ?? false]), [[10, true], [60, true], [100, true], [100, false]]);
  },

  "a new message while a call is open: the call is given up, the message answered, a late result ignored": async (room) => {
    const a = await room.open({ chat: answering(null).chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const tab of [a, b]) await callIs(tab, "input-available");
    b.chat.sendMessage({ text: "never mind" });
    for (const tab of [a, b]) await tab.answers("echo:never mind");
    const call = (await room.stored()).flatMap(callParts)[0];
    assert.equal(call.state, "output-error");
    a.agent.send(JSON.stringify({ type: "cf_agent_tool_result", toolCallId: "call_l1", toolName: "getLocation", output: "late", autoContinue: true }));
    await a.fence();
    assert.deepEqual((await room.stored()).flatMap(callParts)[0], call);
    await agree(room, [a, b], 4);
  },
});
