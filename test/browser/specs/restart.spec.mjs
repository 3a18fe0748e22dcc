import { expect, NEEDS_OWN_NODE, startOwn, test } from "../target.mjs";

test.skip(Boolean(process.env.HOLDFAST_BASE_URL), NEEDS_OWN_NODE);

let own;
test.beforeEach(async () => {
  own = await startOwn();
});
test.afterEach(async ({}, info) => {
  if (info.status !== info.expectedStatus) await info.attach("node.log", { body: own.target.node.log() });
  await own.stop();
});

test("after kill -9 in mid-stream the page recovers by itself and the turn ends exactly once", async ({ openChat }) => {
  const chat = await openChat({ on: own.target });
  await chat.page.evaluate(() => (window.sameDocument = true));
  await chat.begin();
  const before = await chat.answerWords();

  await own.target.node.kill9();
  await expect(chat.connection()).toHaveAttribute("data-state", "reconnecting");
  await expect(chat.button("waiting")).toHaveAttribute("data-phase", "interrupted");
  await own.target.node.restart();

  await chat.connected();
  await chat.ended();
  expect(await chat.page.evaluate(() => window.sameDocument), "the page was not reloaded").toBe(true);
  expect(before.length).toBeGreaterThan(3);
  expect(await chat.answerWords(), "each word once, in order").toEqual(Array.from({ length: own.target.say.slowWords }, (_, i) => String(i + 1)));
  await expect(chat.answers()).toHaveCount(1);
  expect(chat.endings()).toHaveLength(1);
  await expect(chat.error()).toHaveCount(0);
  await chat.agreesWithNode();

  await chat.say("and on it goes");
  await chat.ended();
  await expect(chat.answer()).toContainText("and on it goes");
});

test("a conversation is complete after kill -9 between two turns", async ({ openChat }) => {
  const chat = await openChat({ on: own.target });
  await chat.say("remember this");
  await chat.ended();
  const before = await chat.shown();
  await own.target.node.restart();
  await chat.connected();
  await expect.poll(() => chat.shown()).toEqual(before);
  expect(await chat.agreesWithNode()).toEqual(before);
});

test("a recovered turn can be stopped", async ({ openChat }) => {
  const chat = await openChat({ on: own.target });
  await chat.begin(own.target.say.endless);
  await own.target.node.restart();
  await chat.connected();
  await chat.underWay();
  await chat.button("stop").click();
  await chat.ended("stopped");
  await chat.agreesWithNode();
});
