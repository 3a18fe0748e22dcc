// What is tested: a node of our own with its provider, or a page that is already served somewhere.
import { test as base } from "@playwright/test";
import { Chat } from "./chat.mjs";
import { freePort, removeFolder, startNode, startProvider, temporaryFolder } from "./node.mjs";

/**
 * What to say to get an answer of a kind, and what is known of it. `slow` takes long enough for things to happen in its middle on a
 * busy machine; `endless` is to be stopped.
 */
const PROVIDER = { slow: "slow 240", slowWords: 240, endless: "slow 2400", endlessWords: 2400, error: "error", think: "think" };
const SCRIPTS = {
  slow: "script:veryslow go",
  slowWords: 40,
  endless: "script:veryslow go",
  endlessWords: 40,
  error: "script:modelerror go",
  think: "script:reasoning go",
};

const OUTSIDE = process.env.HOLDFAST_BASE_URL;

export const NEEDS_OWN_NODE = "needs a node and a provider of its own, not HOLDFAST_BASE_URL";

export const test = base.extend({
  /** {base, agent, say, node?, provider?}; node and provider only where the test started them. */
  target: [
    async ({}, use) => {
      if (OUTSIDE) return use({ base: OUTSIDE, agent: process.env.HOLDFAST_AGENT, say: SCRIPTS });
      const own = await startOwn();
      await use(own.target);
      await own.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],

  /** Opens the page: openChat({room?, context?, hash?}) → Chat. Without context each is a browser of its own. */
  openChat: async ({ browser, target }, use, info) => {
    const chats = [];
    await use(async ({ room = newRoom(), context, on = target, ...rest } = {}) => {
      const chat = new Chat(await (context ?? (await browser.newContext())).newPage(), on, room);
      chats.push(chat);
      await chat.open(rest);
      return chat;
    });
    for (const chat of chats) base.expect.soft(chat.faults, "errors in the page").toEqual([]);
    if (info.status !== info.expectedStatus && target.node) await info.attach("node.log", { body: target.node.log() });
    for (const chat of chats) await chat.page.context().close();
  },
});

export const { expect } = base;

/** A node with its provider and an empty data folder; env adds to the node's environment. */
export async function startOwn({ env, model = true } = {}) {
  const provider = model ? await startProvider({ port: await freePort() }) : undefined;
  const dataDir = await temporaryFolder();
  const node = await startNode({ dataDir, port: await freePort(), env: { ...provider?.env, ...env } });
  const stop = async () => {
    await node.stop();
    await provider?.stop();
    await removeFolder(dataDir);
  };
  return { target: { base: node.base, agent: process.env.HOLDFAST_AGENT ?? "assistant", say: PROVIDER, node, provider }, stop };
}

let rooms = 0;
/** A room that no earlier test and no earlier run has used. */
export const newRoom = () => `t${Date.now().toString(36)}-${process.pid}-${++rooms}`;
