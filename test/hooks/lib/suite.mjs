// Tests against one node; each has a conversation of its own, named like the test, and some run side by side.
import { after, before, describe, it } from "node:test";
import { freePort, removeFolder, startProcess, temporaryFolder } from "../../browser/node.mjs";
import { visit } from "./browser.mjs";
import { Tab, text } from "./tab.mjs";

const bin = process.env.HOLDFAST_TESTNODE_BIN;

/** Starts test/testnode; returns when it serves. */
export async function startTestNode() {
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const dir = await temporaryFolder();
  const run = () => startProcess(bin, ["-listen", host, "-data", dir], process.env, `http://${host}/agents/chat-agent/ready/get-messages`);
  let running = await run();
  return {
    host,
    /** The same node, for the browser another one: nothing that a tab has fetched is shared, and CORS applies. */
    otherHost: `localhost:${port}`,
    kill9: () => running.kill("SIGKILL"),
    /** Asks it to end, as a deploy does. */
    shutDown: () => running.stop(),
    start: async () => (running = await run()),
    async stop() {
      await running.stop();
      await removeFolder(dir);
    },
  };
}

/**
 * tests: {name: async (room) => …}. room.open(options) opens a tab, see Tab; options.host, options.class and all
 * options of useAgent may be among options.agent.
 */
export function suite(title, tests) {
  describe(title, { concurrency: 6, timeout: 60_000 }, () => {
    let node;
    before(async () => {
      node = await startTestNode();
      visit(node.host);
    });
    after(() => node.stop());
    for (const [name, test] of Object.entries(tests)) it(name, (t) => test(new Room(t, node, slug(name))));
  });
}

const slug = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);

export class Room {
  constructor(t, node, name) {
    Object.assign(this, { t, node, name });
  }

  /** A node for this test alone, which it may kill. */
  async ownNode() {
    this.node = await startTestNode();
    this.t.after(() => this.node.stop());
  }

  open({ agent = {}, chat = {} } = {}) {
    const tab = new Tab({ agent: { agent: "ChatAgent", name: this.name, host: this.node.host, ...agent }, chat });
    this.t.after(() => tab.close());
    return tab;
  }

  /** A tab in another window: it fetches by itself. */
  openElsewhere({ agent = {}, chat } = {}) {
    return this.open({ agent: { host: this.node.otherHost, ...agent }, chat });
  }

  textOf = text;

  /** The body of a request for an answer of WORDS words that stops after three of them until release. */
  held(more = {}) {
    return { words: WORDS, delayMs: 1, hold: this.name, holdAt: 4, ...more };
  }

  /** Until the answer that stops has stored what it has said. */
  async stopped(hold = this.name) {
    await fetch(`http://${this.node.host}/held?hold=${hold}`);
  }

  /** Lets the answers that are held in this room, or come to it, go on. */
  async release(hold = this.name) {
    await fetch(`http://${this.node.host}/release?hold=${hold}`);
  }

  /** What the node has stored. */
  async stored(agent = "chat-agent") {
    return (await fetch(`http://${this.node.host}/agents/${agent}/${this.name}/get-messages`)).json();
  }
}

export const WORDS = 10;

/** Whether a text has the three words that a held answer begins with, and is not over. */
export const begun = (said) => said.includes(`.2/${WORDS}`) && !said.includes(`.3/${WORDS}`);

/** What script:paced answers to a body with this word and number of words. */
export const paced = (word, n) => Array.from({ length: n }, (_, i) => `${word}.${i}/${n} `).join("");
