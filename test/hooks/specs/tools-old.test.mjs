// The deprecated options and values about tools, which pages still use.
import assert from "node:assert/strict";
import { suite } from "../lib/suite.mjs";
import { callIs, callParts, lastCall, pageTool } from "../lib/tools.mjs";

/** A tool without execute: the page asks its visitor. */
const manual = () => ({ description: "x", parameters: { type: "object", properties: {} } });
const schemas = ["getLocation", "getTimezone"].map((name) => ({ name, description: "x", parameters: { type: "object", properties: {} } }));

suite("useAgentChat, deprecated tools", {
  "experimental_automaticToolResolution: the page runs its tools by itself, once, and the answer goes on": async (room) => {
    let ran = 0;
    const getLocation = { ...pageTool(), execute: async (input) => (ran++, { city: "Oslo", ...input }) };
    const a = await room.open({ chat: { tools: { getLocation }, experimental_automaticToolResolution: true } }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    assert.equal(ran, 1);
    assert.deepEqual(lastCall(b).output, { city: "Oslo", accuracy: "high" });
    assert.equal((await room.stored()).length, 2);
  },

  "addToolResult, toolsRequiringConfirmation: what the visitor says is the result": async (room) => {
    const options = { tools: { getLocation: pageTool() }, toolsRequiringConfirmation: ["getLocation"], experimental_automaticToolResolution: true };
    const a = await room.open({ chat: options }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:clienttool" });
    await callIs(a, "input-available");
    await a.fence();
    assert.deepEqual(a.sent("cf_agent_tool_result"), []);
    await a.chat.addToolResult({ tool: "getLocation", toolCallId: "call_l1", output: "Bergen" });
    for (const tab of [a, b]) await tab.answers("Let me check.You are in Oslo.");
    assert.equal(lastCall(b).output, "Bergen");
  },

  "autoSendAfterAllConfirmationsResolved: with it, the page goes on behind its last result": async (room) => {
    const options = { tools: { getLocation: manual(), getTimezone: manual() }, body: { clientTools: schemas }, autoContinueAfterToolResult: false };
    const a = await room.open({ chat: options }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:twoclient" });
    await callIs(a, "input-available", "call_b");
    await a.chat.addToolResult({ tool: "getLocation", toolCallId: "call_a", output: "Oslo" });
    await a.until("the first result", () => lastCall(a, "call_a").state === "output-available");
    await a.fence(); // the hook forgets the first result if it renders before the node's word of it
    assert.equal(a.bodies().length, 1);
    await a.chat.addToolResult({ tool: "getTimezone", toolCallId: "call_b", output: "CET" });
    await b.until("the answer", () => b.idle() && b.chat.messages.length === 3 && b.says() === "Oslo, CET.");
    assert.equal(a.bodies().length, 2);
    assert.deepEqual(callParts((await room.stored())[1]).map((p) => p.output), ["Oslo", "CET"]);
  },

  "autoSendAfterAllConfirmationsResolved false: the page goes on behind each result, what is open is given up": async (room) => {
    const more = { autoContinueAfterToolResult: false, autoSendAfterAllConfirmationsResolved: false };
    const a = await room.open({ chat: { tools: { getLocation: manual(), getTimezone: manual() }, body: { clientTools: schemas }, ...more } }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:twoclient" });
    await callIs(a, "input-available", "call_b");
    await a.chat.addToolResult({ tool: "getLocation", toolCallId: "call_a", output: "Oslo" });
    await b.until("the answer", () => b.idle() && b.chat.messages.length === 3 && b.says() === "Oslo, CET.");
    assert.deepEqual(callParts((await room.stored())[1]).map((p) => p.state), ["output-available", "output-error"]);
  },
});
