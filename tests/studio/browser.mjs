// A headless Chromium and a running studio, for tests and pictures.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const TOKEN = "0123456789abcdef0123456789abcdef";

/** Starts `unsnarl studio` and waits for its link. */
export async function startStudio(program, path, { port = 0, token = TOKEN, body = null, flags = [] } = {}) {
  const obstacle = body ? ["--body", body] : [];
  const child = spawn(program, ["studio", path, "--port", String(port), "--no-browser", ...obstacle, ...flags], {
    env: { ...process.env, UNSNARL_STUDIO_TOKEN: token },
  });
  const log = [];
  child.stderr.on("data", (text) => log.push(String(text)));
  const link = await new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (text) => {
      out += text;
      const found = out.match(/http:\/\/127\.0\.0\.1:\d+\/\w+\//);
      if (found) resolve(found[0]);
    });
    child.on("exit", (status) => reject(new Error(`the studio ended with ${status}: ${log.join("")}`)));
  });
  const stop = () =>
    new Promise((resolve) => {
      child.removeAllListeners("exit");
      child.on("exit", resolve);
      child.kill("SIGKILL");
    });
  return { link, port: Number(new URL(link).port), pid: child.pid, log, stop };
}

/** Starts Chromium with a profile of its own. */
export async function startBrowser(size = { width: 1280, height: 720 }, options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "unsnarl-studio-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: size,
    acceptDownloads: true,
    ...options,
    args: [
      "--no-sandbox",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--use-angle=swiftshader",
      "--enable-unsafe-swiftshader",
      "--ignore-gpu-blocklist",
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, context, close };
}

/** Waits until the studio shows a garment and is not running. */
export async function shown(page, timeout = 60000) {
  await page.waitForFunction(() => document.body.dataset.verdict && document.body.dataset.activity !== "untangling", null, { timeout });
}
