// A node that is killed and started again, as the hooks come through it.
import assert from "node:assert/strict";
import { WORDS, begun, paced, suite } from "../lib/suite.mjs";

const whole = paced("w", WORDS);

/** Two tabs in the middle of the answer to the question of the first one. */
async function streaming(room, agent) {
  await room.ownNode();
  const options = { agent: { agent }, chat: { body: room.held() } };
  const a = await room.open(options).ready();
  const b = await room.openElsewhere(options).ready();
  a.chat.sendMessage({ text: "script:paced" });
  for (const tab of [a, b]) await tab.until("the middle of the answer", () => begun(tab.says()));
  await room.stopped();
  return [a, b];
}

suite("restart", {
  "kill -9 in the middle of an answer: isRecovering, then it goes on without a reload": async (room) => {
    const tabs = await streaming(room, "RecoverAgent");
    await room.node.kill9();
    await room.node.start();
    for (const tab of tabs) await tab.until("isRecovering", () => tab.chat.isRecovering);
    await room.release();
    for (const tab of tabs) assert.deepEqual((await tab.turnEnds(1)).map((e) => [e.outcome, e.messageIds]), [["completed", [tabs[0].chat.messages[0].id]]]);
    const [, answer] = await room.stored("recover-agent");
    const said = answer.parts.filter((p) => p.type === "text").map((p) => p.text);
    assert.equal(said.at(-1), whole);
    assert.ok(said.length <= 2 && whole.startsWith(said[0]), JSON.stringify(said));
    for (const tab of tabs) {
      await tab.until("what is stored", () => tab.chat.status === "ready" && tab.chat.messages.length === 2 && tab.says() === said.join(""));
      assert.deepEqual([tab.chat.error, tab.chat.isRecovering], [undefined, false]);
    }
    assert.equal(tabs[0].idle(), true);
    tabs[0].chat.sendMessage({ text: "hello" });
    for (const tab of tabs) await tab.answers("echo:hello");
  },

  "kill -9 and no recovery: what was said is kept, the chat can go on": async (room) => {
    const tabs = await streaming(room, "ChatAgent");
    await room.node.kill9();
    await room.node.start();
    const [a] = tabs;
    for (const tab of tabs) await tab.until("to be back", () => tab.sockets.length > 1 && tab.agent.identified && tab.idle());
    const stored = await room.stored();
    const kept = room.textOf(stored[1]);
    assert.ok(stored.length === 2 && whole.startsWith(kept) && kept !== whole, JSON.stringify(stored));
    await a.until("what is stored", () => a.chat.messages.length === 2 && a.says() === kept);
    a.chat.sendMessage({ text: "hello" });
    // The tab that watched kept what it had been shown, perhaps more than what is stored; now it agrees.
    for (const tab of tabs) await tab.shows("user: script:paced", `assistant: ${kept}`, "user: hello", "assistant: echo:hello");
    assert.equal(a.chat.error, undefined);
  },

  "kill -9 while nothing goes on: the conversation is there, state and tabs agree": async (room) => {
    await room.ownNode();
    const tab = await room.open().ready();
    tab.chat.sendMessage({ text: "hello" });
    await tab.answers("echo:hello");
    await room.node.kill9();
    await tab.until("to be offline", () => !tab.agent.identified);
    tab.chat.sendMessage({ text: "typed offline" });
    await room.node.start();
    await tab.shows("user: hello", "assistant: echo:hello", "user: typed offline", "assistant: echo:typed offline");
    assert.deepEqual((await room.stored()).map((m) => m.id), tab.chat.messages.map((m) => m.id));
  },
});
