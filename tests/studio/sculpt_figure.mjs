// A picture of the sculpting page. Usage: UNSNARL=path/to/unsnarl node sculpt_figure.mjs LEVEL OUT.png

import { resolve } from "node:path";
import { startBrowser, startStudio } from "./browser.mjs";

const [level, out] = process.argv.slice(2);
const studio = await startStudio(resolve(process.env.UNSNARL), resolve(level));
const { page, close } = await startBrowser({ width: 1280, height: 800 });
await page.goto(studio.link);
await page.waitForFunction(() => document.body.dataset.mode === "sculpt" && window.studio.sculpting.measures.settled && window.studio.sculpting.view.store.blockCount > 0, null, { timeout: 60000 });
const box = await page.locator("#sculpt-view").boundingBox();
await page.mouse.move(box.x + 0.42 * box.width, box.y + 0.5 * box.height);
await page.waitForFunction(() => window.studio.sculpting.view.ring.visible);
await page.waitForTimeout(1500);
await page.screenshot({ path: out });
await close();
await studio.stop();
