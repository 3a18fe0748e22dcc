import { expect, test } from "../target.mjs";

test("after a reload in mid-stream the answer goes on, is whole and ends once", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.begin();
  await chat.page.reload();
  await chat.underWay();
  await chat.ended();
  expect(await chat.answerWords()).toHaveLength(target.say.slowWords);
  await expect(chat.answers()).toHaveCount(1);
  expect(chat.endings()).toHaveLength(1);
  await chat.agreesWithNode();
});

test("an answer that nobody watches is there when somebody comes back", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.begin();
  await chat.page.goto("about:blank");
  await expect.poll(async () => (await chat.stored()).length, { timeout: 60_000 }).toBe(2);
  await chat.open();
  await chat.ended();
  expect(await chat.answerWords()).toHaveLength(target.say.slowWords);
});
