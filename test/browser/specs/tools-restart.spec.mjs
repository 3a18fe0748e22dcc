// kill -9 while somebody is awaited, and while a tool runs.
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

test("kill -9 while an approval is open: approved after the restart, the turn goes on in both tabs", async ({ openChat }) => {
  const a = await openChat({ on: own.target });
  const b = await openChat({ on: own.target, room: a.room });
  await a.say('call write_log {"entry":"Storm."}');
  for (const chat of [a, b]) await expect(chat.tool()).toHaveAttribute("data-state", "approval-requested");
  await a.ended();
  await own.target.node.kill9();
  await expect(a.connection()).toHaveAttribute("data-state", "reconnecting");
  await expect(a.button("approve")).toBeDisabled();
  await own.target.node.restart();
  for (const chat of [a, b]) await chat.connected();
  await a.button("approve").click();
  for (const chat of [a, b]) {
    await expect(chat.answer()).toContainText("The tools said:");
    await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
    await chat.ended();
    await expect(chat.answers()).toHaveCount(1);
    await expect(chat.error()).toHaveCount(0);
  }
  expect(await a.calls()).toEqual(await a.storedCalls());
  await a.agreesWithNode();
});

test("kill -9 while a tool of the page's waits for the visitor", async ({ openChat }) => {
  const chat = await openChat({ on: own.target });
  await chat.say("call pick_color {}");
  await expect(chat.button("pick-color")).toBeVisible();
  await chat.ended();
  await own.target.node.restart();
  await chat.connected();
  await chat.button("color-send").click();
  await expect(chat.answer()).toContainText("#17705a");
  await chat.ended();
  await chat.agreesWithNode();
});

test("kill -9 while a tool runs: the turn is taken up, and ends", async ({ openChat }) => {
  const chat = await openChat({ on: own.target });
  await chat.say('call measure_tide {"harbour":"Bergen","readings":8}');
  await expect(chat.button("tool-progress")).toBeVisible();
  await own.target.node.restart();
  await chat.connected();
  await expect(chat.answer()).toContainText("The tools said:");
  await chat.ended();
  await expect(chat.answers()).toHaveCount(1);
  await expect(chat.tool()).toHaveCount(1);
  expect(await chat.calls()).toEqual(await chat.storedCalls());
  await chat.agreesWithNode();
  await chat.say("and on it goes");
  await expect(chat.answer()).toContainText("and on it goes");
});
