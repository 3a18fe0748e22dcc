import { expect, test } from "../target.mjs";

/** The turn has ended short of its words, everywhere, and the next one works. */
async function stopped(chat, target) {
  await chat.ended("stopped");
  const kept = await chat.answerWords();
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.length).toBeLessThan(target.say.endlessWords);
  await expect.poll(async () => (await chat.stored()).length).toBe(2);
  await providerSawHangUp(target);
  await chat.agreesWithNode();
  await chat.say("and now this");
  await chat.ended();
  await expect(chat.answer()).toContainText("and now this");
}

async function providerSawHangUp({ provider }) {
  if (!provider) return;
  await expect.poll(async () => (await provider.requests()).at(-1)).toMatchObject({ cut: true });
}

test("Stop in the tab that asked ends the turn and keeps what was said", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.begin(target.say.endless);
  await chat.button("stop").click();
  await stopped(chat, target);
});

// C09: a stream that was resumed can still be stopped, and the provider notices.
test("Stop works after a reload", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.begin(target.say.endless);
  await chat.page.reload();
  await chat.underWay();
  await chat.button("stop").click();
  await stopped(chat, target);
});

test("Stop works in a tab that only watches", async ({ openChat, target }) => {
  const writer = await openChat();
  const watcher = await openChat({ room: writer.room });
  await writer.begin(target.say.endless);
  await watcher.underWay();
  await watcher.button("stop").click();
  await writer.ended("stopped");
  await stopped(watcher, target);
});
