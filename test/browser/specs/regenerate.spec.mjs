import { expect, test } from "../target.mjs";

test("Regenerate replaces the answer in every tab", async ({ openChat, target }) => {
  const chat = await openChat();
  const other = await openChat({ room: chat.room });
  await chat.begin();
  await chat.ended();
  const before = await chat.answer().getAttribute("data-id");
  await chat.button("regenerate").click();
  await chat.underWay();
  await chat.ended();
  await expect(chat.messages()).toHaveCount(2);
  expect(await chat.answer().getAttribute("data-id")).not.toBe(before);
  expect(await chat.answerWords()).toHaveLength(target.say.slowWords);
  await expect.poll(() => other.shown()).toEqual(await chat.shown());
  await chat.agreesWithNode();
});
