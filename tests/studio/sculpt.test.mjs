// The sculpting page as a person uses it, in headless Chromium. Usage: UNSNARL=path/to/unsnarl node --test sculpt.test.mjs

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { startBrowser, startStudio } from "./browser.mjs";
import { ball } from "./shapes.mjs";

const program = resolve(process.env.UNSNARL ?? "../../target/debug/unsnarl");
const pictures = resolve(process.env.PICTURES ?? "../../out/studio");
const folder = mkdtempSync(join(tmpdir(), "unsnarl-sculpt-"));
let studio;
let browser;
let page;
const trouble = [];

before(async () => {
  mkdirSync(pictures, { recursive: true });
  ball(join(folder, "ball.obj"), 40);
  execFileSync(program, ["levelset", "from", join(folder, "ball.obj"), "-o", join(folder, "ball.level"), "--resolution", "96", "-q"]);
  studio = await startStudio(program, join(folder, "ball.level"));
  browser = await startBrowser();
  page = browser.page;
  page.on("pageerror", (error) => trouble.push(error.message));
  await page.goto(studio.link);
  await settled();
});

after(async () => {
  await browser?.close();
  await studio?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const settled = () => page.waitForFunction(() => document.body.dataset.mode === "sculpt" && window.studio.sculpting.measures.settled && window.studio.sculpting.view.store.blockCount > 0, null, { timeout: 60000 });
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`) });
const complaints = () => page.locator(".toast.bad").allTextContents();
const depth = () => page.evaluate(() => [document.getElementById("sculpt-undo").disabled, document.getElementById("sculpt-redo").disabled]);

/** The volume that the panel shows, cubic metres. */
async function volume() {
  const before = await page.evaluate(() => window.studio.sculpting.measures.figures);
  await page.evaluate(() => window.studio.connection.send({ do: "figures" }));
  await page.waitForFunction((before) => window.studio.sculpting.measures.figures > before, before);
  const text = await page.textContent("#sculpt-volume");
  return text.endsWith("cm³") ? 1e-6 * parseFloat(text) : parseFloat(text);
}

/** Presses the tool on the body, moves it and lifts it. */
async function stroke({ from = [0, 0], to = [60, 20], steps = 12, keys = [], hold = 100 } = {}) {
  const box = await page.locator("#sculpt-view").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  for (const key of keys) await page.keyboard.down(key);
  await page.mouse.move(x + from[0], y + from[1]);
  await page.mouse.down();
  await page.mouse.move(x + to[0], y + to[1], { steps });
  await page.waitForTimeout(hold);
  await page.mouse.up();
  for (const key of keys) await page.keyboard.up(key);
  await page.waitForFunction(() => window.studio.sculpting.pointer.sentAt.size === 0);
  await settled();
}

test("a level set opens the sculpting page with its figures", async () => {
  assert.match(await page.textContent("#sculpt-resolution"), /samples/);
  assert.match(await page.textContent("#sculpt-memory"), /MB/);
  const forms = await page.evaluate(() => window.studio.sculpting.view.store.forms);
  assert.ok(forms[2] > 50, `triangles of ${forms}`);
  assert.deepEqual(await complaints(), []);
  await picture("sculpt_opened");
});

test("the ring of the tool follows the pointer on the surface", async () => {
  const box = await page.locator("#sculpt-view").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => window.studio.sculpting.view.ring.visible);
  await page.mouse.move(box.x + 5, box.y + 5);
  await page.waitForFunction(() => !window.studio.sculpting.view.ring.visible);
});

test("raising adds volume, undo takes it back, redo adds it again", async () => {
  await stroke();
  const raised = await volume();
  assert.deepEqual(await depth(), [false, true]);
  await picture("sculpt_raised");
  await page.click("#sculpt-undo");
  await page.waitForFunction(() => document.getElementById("sculpt-undo").disabled);
  await settled();
  const before = await volume();
  assert.ok(raised > before, `${raised} and ${before}`);
  await page.keyboard.press("Shift+Z");
  await page.waitForFunction(() => document.getElementById("sculpt-redo").disabled);
  await settled();
  assert.equal(await volume(), raised);
});

test("every tool works, and Ctrl and Shift change it", async () => {
  let last = await volume();
  for (let tool = 1; tool <= 7; tool++) {
    await page.keyboard.press(String(tool));
    await stroke({ from: [-40 + 12 * tool, -30], to: [-20 + 12 * tool, 10] });
    assert.equal(await page.evaluate(() => document.querySelectorAll('button[data-sculpt][aria-pressed="true"]').length), 1);
  }
  await picture("sculpt_tools");
  assert.notEqual(await volume(), last);
  await page.keyboard.press("1");
  last = await volume();
  await stroke({ keys: ["Control"], from: [-60, 40], to: [-60, 41] });
  assert.ok((await volume()) < last, "raise with Ctrl lowers");
  await stroke({ keys: ["Shift"], from: [0, 0], to: [40, 0] });
  assert.deepEqual(await complaints(), []);
});

test("a mirror does the same on the other side", async () => {
  await page.selectOption("#sculpt-mirror", "x");
  const last = await volume();
  await stroke({ from: [80, 60], to: [81, 60], hold: 300 });
  assert.ok((await volume()) > last);
  await page.selectOption("#sculpt-mirror", "off");
  await picture("sculpt_mirror");
});

test("an answer to a stroke is a small part of what is seen, and comes soon", async () => {
  const whole = await page.evaluate(() => window.studio.sculpting.measures.bytes);
  await page.evaluate(() => (window.studio.sculpting.measures.latencies.length = 0));
  await stroke();
  const { lastBytes, latencies } = await page.evaluate(() => window.studio.sculpting.measures);
  assert.ok(lastBytes > 0 && lastBytes < whole);
  assert.ok(latencies.length > 2 && latencies.every((time) => time >= 0), `${latencies}`);
});

test("beside the body a drag turns the view", async () => {
  const eye = () => page.evaluate(() => window.studio.sculpting.view.camera.position.toArray());
  const before = await eye();
  const box = await page.locator("#sculpt-view").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForTimeout(400);
  await settled();
  assert.notDeepEqual(await eye(), before);
});

test("strokes and volume are saved, and the strokes replay to the same bytes", async () => {
  const save = async (name) => {
    await page.click("#save");
    await page.fill("#save-name", name);
    await page.click("#save-here");
    await page.waitForSelector(`.toast:has-text("${name} is written")`, { timeout: 60000 });
  };
  for (const name of ["shaped.level", "shaped.json", "shaped.obj", "shaped.png"]) await save(name);
  execFileSync(program, ["levelset", "sculpt", join(folder, "ball.level"), "--strokes", join(folder, "shaped.json"), "-o", join(folder, "again.level"), "-q"]);
  assert.ok(readFileSync(join(folder, "again.level")).equals(readFileSync(join(folder, "shaped.level"))), "replayed to the same bytes");
  assert.equal(readFileSync(join(folder, "shaped.png")).subarray(1, 4).toString(), "PNG");
});

test("refining doubles the resolution and says what it costs", async () => {
  await volume();
  assert.match(await page.textContent("#refine-note"), /after/);
  const before = parseInt(await page.textContent("#sculpt-resolution"));
  await page.click("#refine");
  await page.waitForFunction((before) => parseInt(document.getElementById("sculpt-resolution").textContent) > 1.5 * before, before, { timeout: 60000 });
  await settled();
  await picture("sculpt_refined");
  await stroke();
  assert.deepEqual(await complaints(), []);
});

test("after the studio was killed the page opens the volume again and the saved strokes still replay", async () => {
  await studio.stop();
  await page.waitForSelector("#banner:not([hidden])");
  studio = await startStudio(program, join(folder, "ball.level"), { port: studio.port });
  await page.waitForFunction(() => document.getElementById("banner").hidden, null, { timeout: 60000 });
  await page.waitForFunction(() => document.getElementById("sculpt-undo").disabled, null, { timeout: 60000 });
  await settled();
  await stroke();
  execFileSync(program, ["levelset", "sculpt", join(folder, "ball.level"), "--strokes", join(folder, "shaped.json"), "-o", join(folder, "third.level"), "-q"]);
  assert.ok(readFileSync(join(folder, "third.level")).equals(readFileSync(join(folder, "shaped.level"))));
});

test("the help lists the keys of sculpting, and the page fits a phone in light and dark", async () => {
  await page.keyboard.press("?");
  assert.match(await page.textContent("#keys"), /larger tool/);
  assert.doesNotMatch(await page.textContent("#keys"), /pin and unpin/);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 760 });
  await page.waitForTimeout(300);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), "nothing sticks out");
  await picture("sculpt_phone");
  await page.keyboard.press("t");
  await page.waitForTimeout(300);
  await picture("sculpt_phone_other_theme");
  await page.setViewportSize({ width: 1280, height: 720 });
});

test("a closed mesh is sculpted from the list of files, and a broken level set is refused in a line", async () => {
  await page.click("#open");
  await page.waitForSelector("#files button.beside");
  await page.click('#files li:has-text("ball.obj") button.beside');
  await page.waitForFunction(() => document.getElementById("name").textContent === "ball.obj", null, { timeout: 60000 });
  await settled();
  await page.evaluate(() => window.studio.connection.send({ do: "open-volume", path: "shaped.png" }));
  await page.waitForSelector(".toast.bad");
  assert.match((await complaints())[0], /shaped.png/);
  assert.deepEqual(trouble, []);
});
