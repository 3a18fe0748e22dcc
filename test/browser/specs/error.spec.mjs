import { expect, test } from "../target.mjs";

test("a failed turn says so in words, in every tab and after a reload, and can be tried again", async ({ openChat, target }) => {
  const chat = await openChat();
  const other = await openChat({ room: chat.room });
  await chat.say(target.say.error);
  for (const tab of [chat, other]) {
    await expect(tab.error()).toBeVisible({ timeout: 30_000 });
    await expect(tab.button("error-text")).not.toBeEmpty();
    // No stack, no code of ours, no address of the provider.
    await expect(tab.button("error-text")).not.toContainText(/goroutine|panic|\.go:\d|127\.0\.0\.1/);
  }
  await chat.page.reload();
  await expect(chat.error()).toBeVisible();

  const before = chat.endings().length;
  await chat.button("retry").click();
  await expect.poll(() => chat.endings().length, { timeout: 30_000 }).toBeGreaterThan(before);
  await expect(chat.error()).toBeVisible();

  await chat.say("something else");
  await chat.ended();
  await expect(chat.answer()).toContainText("something else");
  await expect(chat.error()).toHaveCount(0);
});
