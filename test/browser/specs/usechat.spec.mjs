import { NEEDS_OWN_NODE, startOwn } from "../target.mjs";
import { expect, test } from "../usechat.mjs";

test.describe.configure({ mode: "parallel" }); // an error takes its retries

const OUTSIDE = Boolean(process.env.HOLDFAST_BASE_URL);

/** The provider noticed that the last turn was stopped, and the next one works. */
async function stopped(chat) {
  await expect.poll(async () => (await chat.target.provider.requests()).at(-1)).toMatchObject({ cut: true });
  await expect.poll(async () => (await chat.stored()).length).toBe(2);
  await chat.page.reload();
  await chat.agreesWithNode();
  const kept = await chat.answerWords();
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.length).toBeLessThan(chat.target.say.endlessWords);
  await chat.say("and now this");
  await expect(chat.answers()).toHaveCount(2);
  await chat.ended();
  await expect(chat.answers().last()).toContainText("and now this");
  await chat.agreesWithNode();
}

for (const version of [6, 7]) {
  test.describe(`useChat of ai ${version} with its default transport`, () => {
    test("a conversation, and regenerate", async ({ openUseChat, target }) => {
      const chat = await openUseChat(version);
      await chat.say("hello");
      await expect(chat.answers()).toHaveCount(1);
      await chat.ended();
      await expect(chat.answers()).toContainText("hello");
      await chat.button("regenerate").click();
      await expect.poll(async () => (await target.provider?.requests())?.length ?? 2).toBeGreaterThan(1);
      await chat.ended();
      await chat.say("again");
      await expect(chat.answers()).toHaveCount(2);
      await chat.ended();
      await chat.agreesWithNode();
      expect(await chat.stored()).toHaveLength(4);
    });

    test("an error is told, and told again to a page that comes later", async ({ openUseChat, target }) => {
      const chat = await openUseChat(version);
      await chat.say(target.say.error);
      await chat.ended("error");
      const told = await chat.page.getByTestId("error").textContent();
      expect(told).not.toBe("");
      await chat.page.reload();
      await expect(chat.page.getByTestId("error")).toHaveText(told);
      await chat.say("hello");
      await chat.ended();
      await expect(chat.page.getByTestId("error")).toHaveCount(0);
      await chat.agreesWithNode();
    });

    test.describe("on a node of its own", () => {
      test.skip(OUTSIDE, NEEDS_OWN_NODE);

      // Long enough for two pages to load in its middle on a busy machine.
      test("after a reload in mid-stream the answer goes on and is whole, in a second tab, too", async ({ openUseChat }) => {
        const chat = await openUseChat(version);
        await chat.say("slow 480");
        await chat.underWay();
        const resumed = chat.resumed();
        const [late] = await Promise.all([openUseChat(version, { room: chat.room }), chat.page.reload()]);
        expect(await resumed).toBe(200);
        await late.underWay();
        for (const tab of [chat, late]) {
          await tab.ended();
          expect(await tab.answerWords()).toHaveLength(480);
          await expect(tab.answers()).toHaveCount(1);
          await tab.agreesWithNode();
        }
        await chat.page.reload();
        await chat.agreesWithNode();
      });

      // C09
      test("Stop works, also after a reload", async ({ openUseChat, target }) => {
        const chat = await openUseChat(version);
        await chat.say(target.say.endless);
        await chat.underWay();
        await chat.page.reload();
        await chat.underWay();
        await chat.button("stop").click();
        await stopped(chat);
      });

      test("with ?stop=disconnect a page that goes away ends its turn", async ({ openUseChat, target }) => {
        const chat = await openUseChat(version, { query: "?stop=disconnect" });
        await chat.say(target.say.endless);
        await chat.underWay();
        await chat.page.reload();
        await stopped(chat);
      });

      test("after kill -9 in mid-stream a reload shows the answer go on to its end", async ({ openUseChat }) => {
        const own = await startOwn();
        const chat = await openUseChat(version, { on: own.target });
        await chat.say(own.target.say.slow);
        await chat.underWay();
        await own.target.node.kill9();
        await chat.ended("error");
        await own.target.node.restart();
        await chat.page.reload();
        await chat.ended();
        await expect.poll(async () => (await chat.answerWords()).length).toBe(own.target.say.slowWords);
        await expect(chat.answers()).toHaveCount(1);
        await chat.agreesWithNode();
        await own.stop();
      });
    });
  });
}
