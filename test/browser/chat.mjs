// The chat page as a test sees it.
import { expect } from "@playwright/test";

const words = (text) => text.split(/\s+/).filter(Boolean);
const plain = (text) => words(text).join(" ");

export class Chat {
  /** Every frame that any socket of the page received, parsed. */
  frames = [];
  /** What the page should never do: throw, or break its own policy. */
  faults = [];

  constructor(page, target, room) {
    this.page = page;
    this.target = target;
    this.room = room;
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => this.frames.push(parse(payload))));
    page.on("pageerror", (error) => this.faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && /Content Security Policy/i.test(message.text())) this.faults.push(message.text());
    });
  }

  composer = () => this.page.getByTestId("composer");
  messages = () => this.page.getByTestId("message");
  answers = () => this.page.locator('[data-testid="message"][data-role="assistant"]');
  answer = () => this.answers().last();
  tool = () => this.page.getByTestId("tool");
  error = () => this.page.getByTestId("error");
  connection = () => this.page.getByTestId("connection");
  button = (name) => this.page.getByTestId(name);

  async open({ hash = false } = {}) {
    const where = hash ? `?agent=${this.target.agent}#${this.room}` : `?agent=${this.target.agent}&room=${this.room}`;
    await this.page.goto(`${this.target.base}/${where}`);
    await this.connected();
  }

  connected = () => expect(this.connection()).toHaveAttribute("data-state", "connected");

  async say(text) {
    await this.composer().fill(text);
    await this.composer().press("Enter");
  }

  /** Says what brings a slow answer and returns when some of its words are there. */
  async begin(text = this.target.say.slow) {
    await this.say(text);
    await this.underWay();
  }

  async underWay() {
    await expect(this.answer()).toHaveAttribute("data-status", "streaming");
    await expect.poll(async () => (await this.answerWords()).length).toBeGreaterThan(3);
  }

  ended = (status = "done") => expect(this.answer()).toHaveAttribute("data-status", status, { timeout: 60_000 });

  async answerWords() {
    return words((await this.shown()).at(-1)?.text ?? "");
  }

  /** The conversation on the screen: [{role, text}] with white space made even; reasoning and tools are left out. */
  async shown() {
    const found = await this.messages().evaluateAll((items) =>
      items.map((item) => {
        const texts = [...item.querySelectorAll('[data-testid="text"]')].filter((text) => !text.closest('[data-testid="reasoning"]'));
        return { role: item.dataset.role, text: texts.map((text) => text.textContent).join(" ") };
      }),
    );
    return found.map(({ role, text }) => ({ role, text: plain(text) }));
  }

  /** The conversation in the node, in the same form. */
  async stored() {
    const messages = await (await fetch(`${this.target.base}/agents/${this.target.agent}/${this.room}/get-messages`)).json();
    return messages.map(({ role, parts }) => ({ role, text: plain(texts(parts).join(" ")) }));
  }

  /** The calls on the screen: [[id, state]]. */
  calls() {
    return this.tool().evaluateAll((cards) => cards.map(({ dataset }) => [dataset.call, dataset.state]));
  }

  /** The calls in the node, in the same form. */
  async storedCalls() {
    const messages = await (await fetch(`${this.target.base}/agents/${this.target.agent}/${this.room}/get-messages`)).json();
    return messages.flatMap(({ parts }) => parts.filter((part) => part.toolCallId).map((part) => [part.toolCallId, part.state]));
  }

  /** The screen shows what is stored, and goes on showing it after a reload. */
  async agreesWithNode() {
    const stored = await this.stored();
    await expect.poll(() => this.shown()).toEqual(stored);
    await this.page.reload();
    await this.connected();
    await expect.poll(() => this.shown()).toEqual(stored);
    return stored;
  }

  /** The frames that ended a turn, replays included; a turn that was handed over to recovery has not ended. */
  endings() {
    return this.frames.filter((frame) => frame.type === "cf_agent_use_chat_response" && frame.done && frame.outcome !== "recovering");
  }
}

/** The texts of a message; those with only the mark of a step between them are one that was cut off and went on. */
function texts(parts) {
  const found = [];
  let last;
  for (const part of parts.filter((part) => part.type !== "step-start")) {
    if (part.type === "text" && last === "text") found[found.length - 1] += part.text;
    else if (part.type === "text") found.push(part.text);
    last = part.type;
  }
  return found;
}

function parse(payload) {
  try {
    return JSON.parse(payload);
  } catch {
    return {};
  }
}
