// Calls that wait for a person: what a node does for addToolApprovalResponse.
import assert from "node:assert/strict";
import { suite } from "../lib/suite.mjs";
import { answering, callIs, callParts, gist, lastCall } from "../lib/tools.mjs";

const handled = "Handled the deletion decision.";

/** Two tabs that show an open approval. */
async function asked(room, { script = "approval", agent = {}, chats = [{}, {}] } = {}) {
  const a = await room.open({ agent, chat: chats[0] }).ready();
  const b = await room.openElsewhere({ agent, chat: chats[1] }).ready();
  a.chat.sendMessage({ text: `script:${script}` });
  for (const tab of [a, b]) await callIs(tab, "approval-requested");
  return [a, b];
}

const respond = (tab, approved) => tab.chat.addToolApprovalResponse({ id: callParts(tab.chat.messages.at(-1)).find((p) => p.state === "approval-requested").approval.id, approved });

async function agree(room, tabs, agent) {
  const stored = gist(await room.stored(agent));
  for (const tab of tabs) await tab.until("what is stored", () => tab.idle() && JSON.stringify(gist(tab.chat.messages)) === JSON.stringify(stored));
  return stored;
}

suite("useAgentChat, approvals", {
  "approved: the tool runs once, its result and the rest are in the same message, in both tabs": async (room) => {
    const [a, b] = await asked(room);
    respond(a, true);
    for (const tab of [a, b]) await tab.answers(handled);
    for (const tab of [a, b]) assert.deepEqual(lastCall(tab), { state: "output-available", output: { deleted: "/tmp/x" }, errorText: undefined, approved: true });
    assert.equal((await agree(room, [a, b])).length, 2);
    assert.equal(a.chat.error, undefined);
  },

  "approved in the tab that has not asked": async (room) => {
    const [a, b] = await asked(room);
    respond(b, true);
    for (const tab of [a, b]) await tab.answers(handled);
    assert.equal((await agree(room, [a, b])).length, 2);
  },

  "denied: the tool does not run, the model goes on, both tabs show it": async (room) => {
    const [a, b] = await asked(room);
    respond(a, false);
    for (const tab of [a, b]) await tab.answers(handled);
    for (const tab of [a, b]) assert.deepEqual([lastCall(tab).state, lastCall(tab).output, lastCall(tab).approved], ["output-denied", undefined, false]);
    assert.equal((await agree(room, [a, b])).length, 2);
  },

  "two pages decide: the first decision counts, there is one continuation": async (room) => {
    const [a, b] = await asked(room);
    respond(a, true);
    respond(b, false);
    for (const tab of [a, b]) await tab.answers(handled);
    const [, answer] = await agree(room, [a, b]);
    assert.equal(answer.parts.filter((p) => p === handled).length, 1, JSON.stringify(answer));
  },

  "autoContinueAfterToolResult false: approved and stored, nothing runs before the page says so": async (room) => {
    const [a, b] = await asked(room, { chats: [{ autoContinueAfterToolResult: false }, {}] });
    respond(a, true);
    for (const tab of [a, b]) await callIs(tab, "approval-responded");
    await b.fence();
    assert.equal(b.calls.onTurnEnd.length, 1);
    assert.equal(callParts((await room.stored())[1])[0].state, "approval-responded");
    assert.ok(!a.renders.some((r) => r.isToolContinuation));
  },

  "an approval and a call of the page's own in one step: the continuation waits for both": async (room) => {
    const { got, chat } = answering(null);
    const a = await room.open({ chat }).ready();
    const b = await room.openElsewhere().ready();
    a.chat.sendMessage({ text: "script:mixed" });
    for (const tab of [a, b]) await callIs(tab, "approval-requested", "call_d1");
    await a.until("the call", () => got.length === 1);
    respond(b, true);
    await a.until("the decision", () => lastCall(a, "call_d1").state === "approval-responded");
    await a.fence();
    assert.equal(lastCall(a, "call_l1").state, "input-available");
    a.chat.addToolOutput({ toolCallId: "call_l1", toolName: "getLocation", output: "Oslo" });
    for (const tab of [a, b]) await tab.answers("Both answered.");
    const [, answer] = await agree(room, [a, b]);
    assert.equal(answer.parts.filter((p) => p === "Both answered.").length, 1);
  },

  "a tool of the page's that needs approval: it runs once, in the page that has approved": async (room) => {
    const [first, second] = [answering({ output: "shared" }), answering({ output: "shared twice" })];
    const [a, b] = await asked(room, { script: "confirm", chats: [first.chat, second.chat] });
    respond(a, true);
    for (const tab of [a, b]) await tab.answers("Shared.");
    assert.deepEqual([first.got.length, second.got.length], [1, 0]);
    for (const tab of [a, b]) assert.equal(lastCall(tab).output, "shared");
    await agree(room, [a, b]);
  },

  "a tool of the page's that needs approval, reloaded between approval and result": async (room) => {
    const left = answering(null);
    const [a, b] = await asked(room, { script: "confirm", chats: [left.chat, {}] });
    respond(a, true);
    await a.until("the call", () => left.got.length === 1);
    a.close();
    b.close();
    const { got, chat } = answering({ output: "shared" });
    const tab = await room.openElsewhere({ chat }).ready();
    await tab.answers("Shared.");
    assert.equal(got.length, 1);
    await agree(room, [tab]);
  },

  "a restart while the approval is open: it can be given afterwards": async (room) => {
    await room.ownNode();
    const [a, b] = await asked(room, { agent: { agent: "RecoverAgent" } });
    await room.node.kill9();
    for (const tab of [a, b]) await tab.until("to be offline", () => !tab.agent.identified);
    await room.node.start();
    for (const tab of [a, b]) await tab.until("to be back", () => tab.agent.identified && tab.idle());
    for (const tab of [a, b]) await callIs(tab, "approval-requested");
    respond(a, true);
    for (const tab of [a, b]) await tab.answers(handled);
    assert.equal(lastCall(b).state, "output-available");
    assert.equal((await agree(room, [a, b], "recover-agent")).length, 2);
  },
});
