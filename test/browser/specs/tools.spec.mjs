// Tools of the node's and of the page's.
import { expect, startOwn, test } from "../target.mjs";

test.skip(Boolean(process.env.HOLDFAST_BASE_URL), "needs the demo agent's tools and a provider that calls them");

const tide = (readings) => `call measure_tide {"harbour":"Bergen","readings":${readings}}`;

test("a tool of the node's: its progress, then its result, then the answer", async ({ openChat }) => {
  const a = await openChat();
  const b = await openChat({ room: a.room });
  await a.say(tide(6));
  for (const chat of [a, b]) await expect(chat.button("tool-progress")).toBeVisible();
  for (const chat of [a, b]) {
    await expect(chat.tool()).not.toHaveAttribute("data-preliminary", "true");
    await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
    await expect(chat.button("tool-progress")).toHaveCount(0);
    await expect(chat.answer()).toContainText("The tools said:");
    await chat.ended();
    expect(await chat.calls()).toEqual(await chat.storedCalls());
  }
  await a.tool().locator("summary").click();
  await expect(a.tool()).toContainText("metres");
  await a.agreesWithNode();
});

test("a reload while a tool runs", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say(tide(8));
  await expect(chat.button("tool-progress")).toBeVisible();
  await chat.page.reload();
  await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
  await expect(chat.answer()).toContainText("The tools said:");
  await chat.ended();
  await expect(chat.answers()).toHaveCount(1);
  expect(await chat.calls()).toEqual(await chat.storedCalls());
  await chat.agreesWithNode();
});

test("Stop while a tool runs ends the turn, and the next one works", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say(tide(60));
  await expect(chat.button("tool-progress")).toBeVisible();
  await chat.button("stop").click();
  await expect(chat.button("send")).toBeVisible();
  await expect(chat.button("tool-progress")).toHaveCount(0);
  await expect.poll(async () => (await chat.stored()).length).toBe(2);
  await chat.say("and now this");
  await expect(chat.answer()).toContainText("You said: and now this");
  await chat.ended();
  await expect.poll(() => chat.calls()).toEqual(await chat.storedCalls());
  await chat.agreesWithNode();
});

test("two tools of one step run side by side", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say(`${tide(2)} call measure_tide {"harbour":"Oslo","readings":2}`);
  await expect(chat.answer()).toContainText("The tools said:");
  await chat.ended();
  await expect(chat.tool()).toHaveCount(2);
  await expect(chat.answer()).toContainText("Bergen");
  await expect(chat.answer()).toContainText("Oslo");
  await chat.agreesWithNode();
});

test("a tool of the page's answers by itself, and the answer goes on in the same message", async ({ openChat }) => {
  const a = await openChat();
  const b = await openChat({ room: a.room });
  await a.say("call browser_time {}");
  const zone = await a.page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  for (const chat of [a, b]) {
    await expect(chat.answer()).toContainText(zone);
    await chat.ended();
    await expect(chat.answers()).toHaveCount(1);
    await expect(chat.tool()).toHaveCount(1);
    await expect.poll(() => chat.calls()).toEqual(await chat.storedCalls());
  }
  await a.agreesWithNode();
});

test("a tool of the page's that asks the visitor: the first tab that answers counts", async ({ openChat }) => {
  const a = await openChat();
  const b = await openChat({ room: a.room });
  await a.say('call pick_color {"question":"Which colour shall the buoy have?"}');
  for (const chat of [a, b]) await expect(chat.button("pick-color")).toContainText("Which colour shall the buoy have?");
  await b.page.getByRole("button", { name: "#2f6fb0" }).click();
  await b.button("color-send").click();
  for (const chat of [a, b]) {
    await expect(chat.answer()).toContainText("#2f6fb0");
    await chat.ended();
    await expect(chat.button("pick-color")).toHaveCount(0);
    await expect(chat.answers()).toHaveCount(1);
  }
  await a.agreesWithNode();
});

test("a tool of the page's that fails tells the model why", async ({ openChat, browser }) => {
  const chat = await openChat({ context: await browser.newContext({ permissions: [] }) });
  await chat.page.evaluate(() => (navigator.geolocation.getCurrentPosition = (_, failed) => failed({ code: 1, PERMISSION_DENIED: 1, message: "no" })));
  await chat.say("call browser_location {}");
  await chat.button("approve").click();
  await expect(chat.answer()).toContainText("does not give the location away");
  await chat.ended();
});

test("an unknown tool is an error that the model sees, and the turn goes on", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say("call no_such_tool {}");
  await expect(chat.answer()).toContainText("The tools said:");
  await expect(chat.tool()).toHaveAttribute("data-state", "output-error");
  await chat.ended();
  await chat.agreesWithNode();
});

test.describe("without a key", () => {
  let own;
  test.beforeAll(async () => {
    own = await startOwn({ model: false });
  });
  test.afterAll(() => own.stop());

  test("the suggestions of an empty room lead through all kinds of tools", async ({ openChat }) => {
    const chat = await openChat({ on: own.target });
    const pick = (title) => chat.button("suggestion").filter({ hasText: title }).click();
    await pick("How high is the tide?");
    await expect(chat.button("tool-progress")).toBeVisible();
    await chat.ended();
    await chat.button("new-chat").click();
    await pick("Write into the logbook");
    await chat.button("approve").click();
    await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
    await chat.ended();
    await chat.button("new-chat").click();
    await pick("What time is it here?");
    await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
    await chat.ended();
    await expect(chat.error()).toHaveCount(0);
  });
});
