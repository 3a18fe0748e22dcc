// The page of useChat as a test sees it. It is built for the test and stands in the node's origin, as if its author served both.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { expect } from "@playwright/test";
import { newRoom, test as base } from "./target.mjs";

const words = (text) => text.split(/\s+/).filter(Boolean);
const PATH = "/usechat";

const scripts = new Map();
/** The page's script with a version of the AI SDK: 6 or 7. */
function script(version) {
  if (!scripts.has(version)) scripts.set(version, bundle(version));
  return scripts.get(version);
}

async function bundle(version) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`usechat/v${version}.jsx`, import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0].text;
}

export class UseChat {
  faults = [];

  constructor(page, target, room, version) {
    this.page = page;
    this.target = target;
    this.room = room;
    this.version = version;
    page.on("pageerror", (error) => this.faults.push(error.message));
  }

  agent = () => `${this.target.base}/agents/${this.target.agent}/${this.room}`;
  chat = () => this.page.getByTestId("chat");
  answers = () => this.page.locator('[data-testid="message"][data-role="assistant"]');
  button = (name) => this.page.getByTestId(name);

  async open({ query = "" } = {}) {
    const js = await script(this.version);
    await this.page.route(`**${PATH}**`, (route) =>
      route.fulfill({ contentType: "text/html", body: `<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module">${js}</script>` }),
    );
    const where = new URLSearchParams({ agent: `/agents/${this.target.agent}/${this.room}`, query });
    await this.page.goto(`${this.target.base}${PATH}?${where}`);
  }

  async say(text) {
    await this.page.getByTestId("composer").fill(text);
    await this.page.getByTestId("composer").press("Enter");
  }

  async underWay() {
    await expect(this.chat()).toHaveAttribute("data-status", "streaming");
    await expect.poll(async () => (await this.answerWords()).length).toBeGreaterThan(3);
  }

  /** The status with which the next attempt to resume is answered. */
  resumed = async () => (await this.page.waitForResponse(/\/chat\/[^/]+\/stream$/)).status();

  ended = (status = "ready") => expect(this.chat()).toHaveAttribute("data-status", status, { timeout: 60_000 });

  async answerWords() {
    return words((await this.shown()).at(-1)?.text ?? "");
  }

  /** The conversation on the screen: [{role, text}]. */
  async shown() {
    const found = await this.page.getByTestId("message").evaluateAll((items) => items.map((item) => ({ role: item.dataset.role, text: item.textContent })));
    return found.map(({ role, text }) => ({ role, text: words(text).join(" ") }));
  }

  /** The conversation in the node, in the same form. */
  async stored() {
    const messages = await (await fetch(`${this.agent()}/get-messages`)).json();
    const text = (parts) => parts.filter((part) => part.type === "text").map((part) => part.text);
    return messages.map(({ role, parts }) => ({ role, text: words(text(parts).join("")).join(" ") }));
  }

  agreesWithNode = async () => expect.poll(() => this.shown()).toEqual(await this.stored());
}

export const test = base.extend({
  /** Opens the page: openUseChat(version, {room?, query?}) → UseChat, each a browser of its own. */
  openUseChat: async ({ browser, target }, use, info) => {
    const chats = [];
    await use(async (version, { room = newRoom(), on = target, ...rest } = {}) => {
      const chat = new UseChat(await (await browser.newContext()).newPage(), on, room, version);
      chats.push(chat);
      await chat.open(rest);
      return chat;
    });
    for (const chat of chats) expect.soft(chat.faults, "errors in the page").toEqual([]);
    if (info.status !== info.expectedStatus && target.node) await info.attach("node.log", { body: target.node.log() });
    for (const chat of chats) await chat.page.context().close();
  },
});

export { expect };
