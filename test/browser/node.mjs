// Starts, kills and restarts the processes under test: the node and the model provider that it talks to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_MS = 20_000;
const STOP_MS = 15_000;
const POLL_MS = 25;
const LOG_CHARS = 64 * 1024;

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

export const temporaryFolder = () => mkdtemp(join(tmpdir(), "holdfast-browser-"));
export const removeFolder = (dir) => rm(dir, { recursive: true, force: true });

/**
 * Runs `bin serve` on 127.0.0.1:port with its data in dataDir, and returns when the page is served. env is added to the environment, from
 * which the variables that choose a model are taken out first: a test says itself what its node talks to.
 */
export async function startNode({ bin = process.env.HOLDFAST_NODE_BIN, dataDir, port, env = {} }) {
  const base = `http://127.0.0.1:${port}`;
  const run = () => startProcess(bin, ["serve", "--listen", `127.0.0.1:${port}`, "--data", dataDir], { ...withoutModel(process.env), ...env }, base);
  let running = await run();
  return {
    base,
    log: () => running.log(),
    /** Ends the process as a power cut would; returns when it is gone. */
    kill9: () => running.kill("SIGKILL"),
    /** Starts it again on the same port and data. */
    restart: async () => {
      await running.kill("SIGKILL");
      running = await run();
    },
    stop: () => running.stop(),
  };
}

function withoutModel(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(OPENAI|ANTHROPIC)_/.test(name)));
}

/** Runs the OpenAI-compatible provider and returns what the node needs to find it. */
export async function startProvider({ bin = process.env.HOLDFAST_PROVIDER_BIN, port }) {
  const base = `http://127.0.0.1:${port}`;
  const running = await startProcess(bin, ["-listen", `127.0.0.1:${port}`], process.env, `${base}/requests`);
  return {
    env: { OPENAI_BASE_URL: `${base}/v1`, OPENAI_API_KEY: "test", OPENAI_MODEL: "test" },
    /** All requests so far, oldest first: [{…, cut: whether the client closed it before its end}]. */
    requests: async () => (await fetch(`${base}/requests`)).json(),
    log: () => running.log(),
    stop: () => running.stop(),
  };
}

/** Runs bin and returns when readyUrl answers. */
export async function startProcess(bin, args, env, readyUrl) {
  const child = spawn(bin, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  const keep = (data) => (log = (log + data).slice(-LOG_CHARS));
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const gone = new Promise((resolve) => {
    child.on("error", (error) => resolve(String(error)));
    child.on("exit", (code, signal) => resolve(`exit ${code ?? signal}`));
  });
  const kill = async (signal) => {
    child.kill(signal);
    await gone;
  };
  try {
    await untilServed(readyUrl, gone);
  } catch (error) {
    await kill("SIGKILL");
    throw new Error(`${bin} ${args.join(" ")}: ${error.message}\n${log}`);
  }
  return { log: () => log, kill, stop: () => stopInTime(kill, gone) };
}

async function untilServed(url, gone) {
  let end = null;
  void gone.then((how) => (end = how));
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (end) throw new Error(`ended before it served: ${end}`);
    const response = await fetch(url).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`did not serve ${url} within ${START_MS} ms`);
}

/** Asks the process to end; one that does not is killed, and that is an error. */
async function stopInTime(kill, gone) {
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, STOP_MS, "late")));
  const how = await Promise.race([kill("SIGTERM").then(() => gone), late]);
  clearTimeout(timer);
  if (how !== "late") return;
  await kill("SIGKILL");
  throw new Error(`did not end within ${STOP_MS} ms after SIGTERM`);
}
