import { expect, test } from "../target.mjs";

test("a second tab sees the answer while it comes, and both end with the same", async ({ openChat, target }) => {
  const writer = await openChat();
  const watcher = await openChat({ room: writer.room });
  await writer.begin();
  await watcher.underWay();
  await writer.ended();
  await watcher.ended();
  await expect.poll(() => watcher.shown()).toEqual(await writer.shown());
  expect(await watcher.answerWords()).toHaveLength(target.say.slowWords);
  await watcher.agreesWithNode();
});

test("a tab that is opened in mid-stream gets the whole answer", async ({ openChat, target }) => {
  const writer = await openChat();
  await writer.begin();
  const late = await openChat({ room: writer.room });
  await late.underWay();
  await late.ended();
  expect(await late.answerWords()).toHaveLength(target.say.slowWords);
  await late.agreesWithNode();
});

test("two tabs take turns", async ({ openChat }) => {
  const a = await openChat();
  const b = await openChat({ room: a.room });
  await a.say("from a");
  await b.ended();
  await b.say("from b");
  await expect(a.answers()).toHaveCount(2);
  await a.ended();
  await b.ended();
  await expect.poll(() => a.shown()).toEqual(await b.shown());
  await a.agreesWithNode();
});
