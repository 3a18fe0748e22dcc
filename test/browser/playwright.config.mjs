import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "specs",
  timeout: 120_000,
  expect: { timeout: 20_000 },
  workers: 2, // each has its own node and provider
  fullyParallel: false,
  forbidOnly: true,
  retries: 0, // a test that needs a second try has found something
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
