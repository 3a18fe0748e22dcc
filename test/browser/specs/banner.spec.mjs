import { expect, NEEDS_OWN_NODE, startOwn, test } from "../target.mjs";

test.skip(Boolean(process.env.HOLDFAST_BASE_URL), NEEDS_OWN_NODE);

test("without a key the page says that a scripted model answers, and which variables to set", async ({ openChat }) => {
  const own = await startOwn({ model: false });
  try {
    const chat = await openChat({ on: own.target });
    await expect(chat.button("banner")).toContainText("OPENAI_API_KEY");
    await expect(chat.button("banner")).toContainText("ANTHROPIC_API_KEY");
    await chat.say("hello");
    await chat.ended();
    await chat.agreesWithNode();
  } finally {
    await own.stop();
  }
});

test("with a real model there is no banner", async ({ openChat }) => {
  const chat = await openChat();
  await expect(chat.button("banner")).toHaveCount(0);
});
