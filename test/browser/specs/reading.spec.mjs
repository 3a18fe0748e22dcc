import { expect, test } from "../target.mjs";

const gapToEnd = (chat) => chat.button("scroller").evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop);
const position = (chat) => chat.button("scroller").evaluate((view) => view.scrollTop);

test("the view follows the answer until the reader scrolls up, and then stays where the reader is", async ({ openChat }) => {
  const chat = await openChat();
  await chat.page.setViewportSize({ width: 390, height: 480 });
  await chat.say(Array.from({ length: 30 }, (_, line) => `line ${line}\n`).join("\n"));
  await chat.ended();
  await chat.begin();
  expect(await gapToEnd(chat)).toBeLessThan(40);

  await chat.button("scroller").hover();
  await chat.page.mouse.wheel(0, -300);
  await expect(chat.button("to-latest")).toBeVisible();
  // Smooth scrolling may still be on its way: wait until two looks agree.
  let last = -1;
  await expect.poll(async () => last === (last = await position(chat))).toBe(true);
  await chat.ended();
  expect(await position(chat)).toBe(last);

  await chat.button("to-latest").click();
  await expect.poll(() => gapToEnd(chat)).toBeLessThan(2);
  await expect(chat.button("to-latest")).toHaveCount(0);
});

test("the chosen theme is remembered, also against the system's", async ({ openChat }) => {
  const chat = await openChat();
  const background = () => chat.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await chat.page.emulateMedia({ colorScheme: "light" });
  const light = await background();
  await chat.button("theme").click();
  const dark = await background();
  expect(dark).not.toBe(light);
  await chat.page.reload();
  await chat.connected();
  expect(await background()).toBe(dark);
});

test("an agent that does not exist is named in words, with a way out", async ({ openChat, target }) => {
  const chat = await openChat();
  await chat.page.goto(`${target.base}/?agent=nobody-here&room=${chat.room}`);
  await expect(chat.button("failure")).toContainText("nobody-here");
  await expect(chat.button("failure").getByRole("button")).toHaveCount(2);
});
