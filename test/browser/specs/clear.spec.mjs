import { expect, test } from "../target.mjs";

async function clear(chat) {
  await chat.button("clear").click();
  await chat.button("clear-confirm").click();
}

test("Clear asks first, and empties every tab and the node", async ({ openChat }) => {
  const chat = await openChat();
  const other = await openChat({ room: chat.room });
  await chat.say("hello");
  await chat.ended();
  await chat.button("clear").click();
  await chat.page.keyboard.press("Escape");
  await expect(chat.messages()).toHaveCount(2);
  await clear(chat);
  await expect(chat.button("welcome")).toBeVisible();
  await expect(other.button("welcome")).toBeVisible();
  expect(await chat.agreesWithNode()).toEqual([]);
  await chat.say("anew");
  await chat.ended();
  await expect(other.messages()).toHaveCount(2);
});
