// Calls that wait for the visitor's approval.
import { expect, test } from "../target.mjs";

test.skip(Boolean(process.env.HOLDFAST_BASE_URL), "needs the demo agent's tools and a provider that calls them");

const LOG = 'call write_log {"entry":"Sea calm, two seals."}';
const LOCATE = "call browser_location {}";

/** Two tabs of a room in which the visitor has been asked. */
async function asked(openChat, text = LOG, more = {}) {
  const a = await openChat(more);
  const b = await openChat({ room: a.room, ...more });
  await a.say(text);
  for (const chat of [a, b]) await expect(chat.tool()).toHaveAttribute("data-state", "approval-requested");
  await a.ended();
  return [a, b];
}

async function bothSay(chats, text) {
  for (const chat of chats) {
    await expect(chat.answer()).toContainText(text);
    await chat.ended();
    await expect(chat.answers()).toHaveCount(1);
    await expect(chat.error()).toHaveCount(0);
  }
  await expect.poll(() => chats[0].calls()).toEqual(await chats[0].storedCalls());
  await expect.poll(() => chats[1].calls()).toEqual(await chats[1].storedCalls());
  await chats[0].agreesWithNode();
}

test("an approval is seen in two tabs; given in one, both go on and show the same", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  await expect(b.tool()).toContainText("Sea calm, two seals.");
  await b.button("approve").click();
  await bothSay([a, b], "The tools said:");
  for (const chat of [a, b]) await expect(chat.tool()).toHaveAttribute("data-state", "output-available");
});

test("denied: nothing is written, and the model goes on", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  await a.button("deny").click();
  await bothSay([a, b], "The tools said:");
  for (const chat of [a, b]) await expect(chat.tool()).toHaveAttribute("data-state", "output-denied");
});

test("denied with a reason: both tabs show it, and the model is told", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  await a.button("deny-with-reason").click();
  await a.button("deny-reason").fill("Three seals, not two.");
  await a.button("deny-reason").press("Enter");
  await bothSay([a, b], "Three seals, not two.");
  for (const chat of [a, b]) {
    await expect(chat.tool()).toHaveAttribute("data-state", "output-denied");
    await expect(chat.button("tool-reason")).toContainText("Three seals, not two.");
  }
});

test("an approval is given with the keyboard alone", async ({ openChat }) => {
  const chat = await openChat();
  await chat.say(LOG);
  await expect(chat.button("approve")).toBeVisible();
  await chat.ended();
  const tried = 40; // more stops than the page has
  for (let i = 0; i < tried && !(await chat.button("approve").evaluate((el) => el === document.activeElement)); i++) await chat.page.keyboard.press("Shift+Tab");
  await chat.page.keyboard.press("Enter");
  await expect(chat.answer()).toContainText("The tools said:");
});

test("a reload while an approval is open changes nothing", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  await a.page.reload();
  await a.connected();
  await expect(a.tool()).toHaveAttribute("data-state", "approval-requested");
  await a.button("approve").click();
  await bothSay([a, b], "The tools said:");
});

test("a message instead of a decision gives the call up, and is answered", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  await a.say("never mind");
  for (const chat of [a, b]) {
    await expect(chat.answer()).toContainText("You said: never mind");
    await chat.ended();
    await expect(chat.tool()).toHaveAttribute("data-state", "output-error");
    await expect(chat.button("approve")).toHaveCount(0);
  }
  await a.agreesWithNode();
});

test("a tab in the background shows what was decided elsewhere when it is looked at again", async ({ openChat }) => {
  const [a, b] = await asked(openChat);
  const life = await b.page.context().newCDPSession(b.page);
  await life.send("Page.setWebLifecycleState", { state: "frozen" });
  await a.button("approve").click();
  await expect(a.answer()).toContainText("The tools said:");
  await a.ended();
  await life.send("Page.setWebLifecycleState", { state: "active" });
  await bothSay([a, b], "The tools said:");
});

test.describe("a tool of the page's that needs approval", () => {
  const at = { geolocation: { latitude: 60.39, longitude: 5.32 }, permissions: ["geolocation"] };

  /** Two tabs of one browser that gives its location away once told to. */
  async function askedForLocation(openChat, browser) {
    const context = await browser.newContext(at);
    await context.addInitScript(() => {
      const real = navigator.geolocation.getCurrentPosition.bind(navigator.geolocation);
      window.located = 0;
      navigator.geolocation.getCurrentPosition = (...args) => {
        window.located++;
        if (localStorage.getItem("hold") !== "1") real(...args);
      };
    });
    return asked(openChat, LOCATE, { context });
  }

  const runs = async (chats) => (await Promise.all(chats.map((chat) => chat.page.evaluate(() => window.located)))).reduce((sum, n) => sum + n, 0);

  test("approved: it runs once, in one tab", async ({ openChat, browser }) => {
    const [a, b] = await askedForLocation(openChat, browser);
    await a.button("approve").click();
    for (const chat of [a, b]) await expect(chat.answer()).toContainText("60.39");
    expect(await runs([a, b])).toBe(1);
    await bothSay([a, b], "60.39");
  });

  test("denied with a reason: it does not run", async ({ openChat, browser }) => {
    const [a, b] = await askedForLocation(openChat, browser);
    await a.button("deny-with-reason").click();
    await a.button("deny-reason").fill("I am hiding.");
    await a.button("deny-confirm").click();
    for (const chat of [a, b]) await expect(chat.answer()).toContainText("I am hiding.");
    expect(await runs([a, b])).toBe(0);
    await bothSay([a, b], "I am hiding.");
  });

  test("a reload between approval and result: the page that comes back runs it", async ({ openChat, browser }) => {
    const [a, b] = await askedForLocation(openChat, browser);
    await a.page.evaluate(() => localStorage.setItem("hold", "1"));
    await a.button("approve").click();
    await expect.poll(() => runs([a])).toBe(1);
    await a.page.evaluate(() => localStorage.setItem("hold", "0"));
    await a.page.reload();
    await a.connected();
    for (const chat of [a, b]) await expect(chat.answer()).toContainText("60.39");
    expect(await runs([a, b])).toBe(1); // the reloaded page has a count of its own
    await bothSay([a, b], "60.39");
  });
});

