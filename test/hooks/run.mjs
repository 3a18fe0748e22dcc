// Runs all specs with the AI SDK 7 below the hooks, then those that it matters to with 6.
import { spawnSync } from "node:child_process";

const all = ["agent", "agent-state", "chat-options", "chat-values", "resume", "restart", "tools", "tools-approval", "tools-old"];
const builds = [
  ["7", all],
  ["6", all.filter((name) => !name.startsWith("agent") && name !== "tools-old")],
];

for (const [ai, specs] of builds) {
  console.log(`\nAI SDK ${ai}`);
  const args = ["--test", `--test-concurrency=${specs.length}`, "--test-reporter=spec", ...specs.map((name) => `specs/${name}.test.mjs`)];
  const env = { ...process.env, AI: ai, NODE_ENV: "production" }; // React's development build warns of every update outside of act
  const { status } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
