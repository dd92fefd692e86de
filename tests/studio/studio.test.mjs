// The studio as a person uses it, in headless Chromium. Usage: UNSNARL=path/to/unsnarl node --test studio.test.mjs

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { shown, startBrowser, startStudio } from "./browser.mjs";

const program = resolve(process.env.UNSNARL ?? "../../target/debug/unsnarl");
const pictures = resolve(process.env.PICTURES ?? "../../out/studio");
const scenes = resolve(import.meta.dirname, "../../scenes");
const folder = mkdtempSync(join(tmpdir(), "unsnarl-folder-"));
let studio;
let browser;
let page;
const trouble = [];

before(async () => {
  mkdirSync(pictures, { recursive: true });
  execFileSync(program, ["make", "closed", "-o", join(folder, "small.obj"), "--resolution", "8", "-q"]);
  for (const name of ["closed", "bbii"]) execFileSync(program, ["make", name, "-o", join(folder, `${name}.obj`), "-q"]);
  execFileSync(program, ["sim", join(scenes, "hanging_sheet.toml"), "-o", join(folder, "hanging"), "--set", "scene.frames=6", "--set", 'cloth.0.sheet.cells=[14,14]', "--set", "cloth.0.pin=[{vertices=[0,14]}]", "-q"]);
  execFileSync(program, ["sim", join(scenes, "hammock.toml"), "-o", join(folder, "ball"), "--set", "scene.frames=8", "--set", "cloth.0.sheet.cells=[16,8]", "--set", "rigid.0.position=[0,1.14,0]", "-q"]);
  execFileSync(program, ["sim", join(scenes, "billiards.toml"), "-o", join(folder, "billiards"), "--set", "scene.frames=8", "-q"]);
  writeFileSync(join(folder, "broken.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n");
  studio = await startStudio(program, folder);
  browser = await startBrowser();
  page = browser.page;
  page.on("pageerror", (error) => trouble.push(error.message));
  await page.goto(studio.link);
  await page.waitForSelector("#files button");
});

after(async () => {
  await browser?.close();
  await studio?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(name) {
  await page.evaluate(() => delete document.body.dataset.verdict);
  if (!(await page.isVisible("#chooser"))) await page.click("#open");
  await page.click(`#files button:has-text("${name}")`);
  await shown(page);
}

const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`) });
const data = (name) => page.evaluate((own) => document.body.dataset[own], name);
const totals = () => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#totals .total")].map((total) => [total.dataset.type, Number(total.dataset.count)])));
const finished = () => page.waitForFunction(() => ["done", "gave-up"].includes(document.body.dataset.activity), null, { timeout: 240000 });

function check(path) {
  const run = spawnSync(program, ["check", path, "--json", "-"], { encoding: "utf8" });
  return { status: run.status, report: JSON.parse(run.stdout) };
}

test("the empty page offers files and samples", async () => {
  assert.equal(await data("mode"), "empty");
  assert.ok((await page.locator("#samples button").count()) >= 7);
  // Seven files, and a button to sculpt beside each of the four meshes.
  assert.equal(await page.locator("#files button").count(), 11);
  await picture("empty");
});

for (const name of ["closed", "bbii"]) {
  test(`${name} shows the contours that unsnarl check finds`, async () => {
    await open(`${name}.obj`);
    const { types, contours } = check(join(folder, `${name}.obj`)).report;
    const { OTHER: _, ...named } = types;
    assert.deepEqual(await totals(), named);
    assert.equal(await page.locator("#contours li[data-contour]").count(), contours.length);
    assert.ok(named[name.toUpperCase()] > 0);
    assert.equal(await data("verdict"), "tangled");
    await picture(`${name}-light`);
  });
}

test("a click in the list flies both views to the contour", async () => {
  await open("closed.obj");
  const eye = () => page.evaluate(() => window.studio.space.camera.position.toArray());
  const part = () => page.evaluate(() => [window.studio.panels.camera.left, window.studio.panels.camera.right]);
  const [before, whole] = [await eye(), await part()];
  await page.click("#contours li[data-contour]");
  await page.waitForTimeout(1500);
  assert.equal(await page.getAttribute("#contours li[data-contour]", "aria-selected"), "true");
  assert.notDeepEqual(await eye(), before);
  const [left, right] = await part();
  assert.ok(right - left < whole[1] - whole[0], "the panels come nearer");
  await picture("selected");
  await page.keyboard.press("Home");
});

test("untangling ends certified clean, is saved, and the file is clean", async () => {
  await open("closed.obj");
  await page.click("#untangle");
  await finished();
  assert.equal(await data("verdict"), "clean");
  assert.deepEqual(new Set(Object.values(await totals())), new Set([0]));
  await picture("untangled");
  await page.click("#save");
  await page.fill("#save-name", "fixed.obj");
  await page.click("#save-here");
  await page.waitForSelector(".toast:has-text('certified clean')");
  assert.equal(check(join(folder, "fixed.obj")).status, 0);
});

test("undo gives the tangle back, redo the clean garment", async () => {
  await page.keyboard.press("z");
  await page.waitForFunction(() => document.body.dataset.verdict === "tangled");
  await page.keyboard.press("Shift+Z");
  await page.waitForFunction(() => document.body.dataset.verdict === "clean");
});

test("steps and stages go one by one, every stage under its name", async () => {
  await open("bbii.obj");
  await page.click("#step");
  await page.waitForFunction(() => document.getElementById("step-count").textContent === "1 step");
  const places = () => page.evaluate(() => [...window.studio.space.positions]);
  const before = await places();
  const after = {};
  for (const stage of ["untangle", "dynamics", "contact", "analysis"]) {
    await page.click("#stage-step");
    await page.waitForFunction((own) => document.body.dataset.activity === `stage:${own}`, stage);
    assert.match(await page.textContent("#stage-name"), new RegExp(`of 4: ${stage}`, "i"));
    after[stage] = await places();
  }
  await picture("stage");
  assert.deepEqual(after.untangle, before);
  assert.notDeepEqual(after.dynamics, before);
  assert.notDeepEqual(after.contact, after.dynamics);
  assert.deepEqual(after.analysis, after.contact);
  assert.equal(await page.textContent("#step-count"), "2 steps");
  for (const stage of ["analysis", "untangle", "dynamics", "contact"]) assert.match(await page.textContent("#times"), new RegExp(stage));
  await page.keyboard.press("z");
  await page.waitForFunction(() => document.body.dataset.activity === "idle");
  assert.deepEqual(await places(), before);
  assert.ok(await page.isHidden("#stage-name"));
});

test("the report and a GLB can be downloaded, and a picture taken", async () => {
  await page.click("#save");
  for (const [format, start] of [["json", "{"], ["glb", "glTF"]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[data-download="${format}"]`)]);
    assert.equal(readFileSync(await download.path()).subarray(0, start.length).toString(), start);
  }
  await page.keyboard.press("Escape");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#screenshot")]);
  assert.equal(readFileSync(await download.path()).subarray(1, 4).toString(), "PNG");
});

// Layers may be back in order before a frame shows them crossed.
test("cloth dragged through cloth is clean in the end", async () => {
  await open("small.obj");
  await page.click("#untangle");
  await finished();
  assert.equal(await data("verdict"), "clean");
  await page.keyboard.press("d");
  const box = await page.locator("#view3d").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  let tangled = false;
  for (const dy of [90, -90, 180, -180]) {
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, y + dy / 2);
    await page.mouse.move(x, y + dy);
    const seen = page.waitForFunction(() => document.body.dataset.verdict === "tangled", null, { timeout: 3000 });
    tangled = await seen.then(() => true, () => false);
    if (tangled) await picture("dragged");
    await page.mouse.up();
    await finished();
    assert.equal(await data("verdict"), "clean");
    if (tangled) break;
  }
  await page.keyboard.press("l");
});

test("a vertex is pinned and unpinned", async () => {
  await page.keyboard.press("Home");
  await page.waitForTimeout(600);
  await page.keyboard.press("p");
  const box = await page.locator("#view3d").boundingBox();
  const spot = [box.x + box.width / 2, box.y + box.height / 2];
  const pins = () => page.evaluate(() => window.studio.pins());
  await page.mouse.click(...spot);
  await page.waitForFunction(() => window.studio.pins() === 1);
  await page.mouse.click(...spot);
  await page.waitForFunction(() => window.studio.pins() === 0);
  assert.equal(await pins(), 0);
  await page.keyboard.press("l");
});

test("a bad file is refused with a line that says where and why", async () => {
  await page.click("#open");
  await page.click('#files button:has-text("broken.obj")');
  const toast = page.locator(".toast.bad:has-text('broken.obj')");
  await toast.waitFor();
  assert.match(await toast.textContent(), /broken\.obj.*4.*9/s);
  await page.setInputFiles("#file", { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await page.waitForSelector(".toast.bad:has-text('notes.txt')");
  await picture("refused");
  await page.keyboard.press("Escape");
});

test("a chosen file opens, and a dropped one", async () => {
  const text = readFileSync(join(folder, "bbii.obj"), "utf8");
  const arrived = async (name) => {
    await page.waitForFunction((own) => document.getElementById("name").textContent === own, name);
    await shown(page);
    assert.equal(await data("verdict"), "tangled");
  };
  await page.evaluate(() => delete document.body.dataset.verdict);
  await page.setInputFiles("#file", { name: "mine.obj", mimeType: "text/plain", buffer: Buffer.from(text) });
  await arrived("mine.obj");
  await page.evaluate((content) => {
    delete document.body.dataset.verdict;
    const dropped = new DataTransfer();
    dropped.items.add(new File([content], "dropped.obj"));
    for (const type of ["dragenter", "dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }, text);
  await arrived("dropped.obj");
});

test("wireframe, colours, x-ray, section and panels follow their keys, and help lists them", async () => {
  const canvas = async () => (await page.locator("#view3d").screenshot()).toString("base64");
  const pressed = (name) => page.getAttribute(`[data-look="${name}"]`, "aria-pressed");
  for (const [key, name] of [["w", "wireframe"], ["c", "colours"], ["k", "contours"], ["x", "xray"]]) {
    const [state, looked] = [await pressed(name), await canvas()];
    await page.keyboard.press(key);
    await page.waitForTimeout(300);
    assert.notEqual(await pressed(name), state, name);
    assert.notEqual(await canvas(), looked, name);
    await page.keyboard.press(key);
  }
  const whole = await canvas();
  await page.keyboard.press("v");
  await page.waitForTimeout(300);
  assert.equal(await page.inputValue("#section"), "x");
  assert.notEqual(await canvas(), whole);
  await picture("section");
  for (let press = 0; press < 3; press++) await page.keyboard.press("v");
  assert.equal(await page.inputValue("#section"), "off");
  await page.keyboard.press("?");
  assert.ok((await page.locator("#keys kbd").count()) >= 20);
  await picture("keys");
  await page.keyboard.press("Escape");
});

test("a simulation plays to its end", async () => {
  await open("hanging");
  assert.equal(await data("mode"), "cache");
  await page.click("#play");
  await page.waitForFunction(() => document.getElementById("scrub").value === "6", null, { timeout: 60000 });
  await page.waitForFunction(() => document.getElementById("play").textContent === "Play");
  assert.match(await page.textContent("#frame-report"), /solver iterations/);
  const drawn = () => document.getElementById("strip").getContext("2d").getImageData(0, 0, 400, 10).data.filter((value, at) => at % 4 === 3 && value > 0).length;
  assert.ok((await page.evaluate(drawn)) > 1000, "the strip shows the frames");
  await picture("playback");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.getElementById("scrub").value === "5");
});

for (const name of ["ball", "billiards"]) {
  test(`rigid bodies of ${name} play to their end`, async () => {
    await open(name);
    const before = await page.locator("canvas").first().screenshot();
    await page.click("#play");
    await page.waitForFunction(() => document.getElementById("scrub").value === "8", null, { timeout: 60000 });
    await page.waitForFunction(() => document.getElementById("play").textContent === "Play");
    assert.ok(!before.equals(await page.locator("canvas").first().screenshot()), "something moved");
    await picture(`rigid_${name}`);
  });
}

test("dark, and a phone-wide window, fit and stay readable", async () => {
  await open("closed.obj");
  for (const theme of ["light", "dark"]) {
    if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) await page.click("#theme");
    for (const size of [{ width: 1280, height: 720 }, { width: 390, height: 780 }]) {
      await page.setViewportSize(size);
      await page.waitForTimeout(400);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${theme} ${size.width}`);
      assert.ok(await page.isVisible("#untangle"));
      await picture(`${theme}-${size.width}`);
    }
    const worst = await page.evaluate(leastContrast);
    assert.ok(worst >= 4.5, `${theme}: contrast ${worst}`);
  }
  await page.setViewportSize({ width: 1280, height: 720 });
});

test("another method can be chosen, and its run taken back", async () => {
  await open("small.obj");
  assert.ok((await page.locator("#method option").count()) >= 7);
  await page.selectOption("#method", "icm");
  await page.click("#untangle");
  await page.waitForFunction(() => parseInt(document.getElementById("step-count").textContent) > 2, null, { timeout: 60000 });
  // Not by the button: a run that has ended meanwhile would be begun again, and that one taken back.
  await page.evaluate(() => window.studio.connection.send({ do: "pause" }));
  await page.waitForFunction(() => document.body.dataset.activity !== "untangling");
  await page.keyboard.press("z");
  await page.waitForFunction(() => document.body.dataset.activity === "idle" && document.body.dataset.verdict === "tangled");
  await page.selectOption("#method", "auto");
});

test("a style for folds can be chosen", async () => {
  await open("small.obj");
  assert.equal(await page.inputValue("#style"), "design");
  const offered = await page.locator("#style option").allTextContents();
  assert.deepEqual(offered, ["As designed", "Unfold", "Fold out", "Fold in", "Along the crease"]);
  assert.ok(await page.isVisible("#style"));
  await page.selectOption("#style", "fold-in");
  await page.click("#untangle");
  await page.waitForFunction(() => document.body.dataset.verdict === "clean", null, { timeout: 120000 });
  await page.selectOption("#style", "design");
});

test("a body beside the garment is shown, seen through, and counted as unsnarl check counts it", async () => {
  const own = mkdtempSync(join(tmpdir(), "unsnarl-body-"));
  const [sheet, body] = ["sheet.obj", "body.obj"].map((name) => join(own, name));
  writeFileSync(sheet, sheetText(12));
  writeFileSync(body, "v 0.5 0.45 0.4\nv 0.2 0.2 -0.5\nv 0.8 0.2 -0.5\nv 0.5 0.8 -0.5\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n");
  const beside = await startStudio(program, sheet, { body });
  const tab = await browser.context.newPage();
  try {
    tab.on("pageerror", (error) => trouble.push(error.message));
    await tab.goto(beside.link);
    await shown(tab);
    const run = spawnSync(program, ["check", sheet, "--body", body, "--json", "-"], { encoding: "utf8" });
    const { OTHER: _, ...named } = JSON.parse(run.stdout).types;
    const counts = await tab.evaluate(() => Object.fromEntries([...document.querySelectorAll("#totals .total")].map((total) => [total.dataset.type, Number(total.dataset.count)])));
    assert.deepEqual(counts, named);
    assert.equal(named.CLOSED, 1);
    assert.match(await tab.textContent("#contours li[data-contour]"), /sheet.*body|body.*sheet/s);
    await tab.screenshot({ path: join(pictures, "body.png") });
    await tab.keyboard.press("x");
    await tab.waitForTimeout(300);
    await tab.screenshot({ path: join(pictures, "body-xray.png") });
  } finally {
    await tab.close();
    await beside.stop();
    rmSync(own, { recursive: true, force: true });
  }
});

test("the page survives a restart of the studio", async () => {
  await open("closed.obj");
  const { port } = studio;
  await studio.stop();
  await page.waitForSelector("#banner:not([hidden])");
  await picture("lost");
  await page.evaluate(() => delete document.body.dataset.verdict);
  studio = await startStudio(program, folder, { port });
  await page.waitForSelector("#banner", { state: "hidden", timeout: 30000 });
  await shown(page);
  assert.equal(await data("verdict"), "tangled");
});

test("nothing went wrong on the page", () => assert.deepEqual(trouble, []));

/** A flat square of side 1 in cells, as OBJ. */
function sheetText(cells) {
  const lines = [];
  for (let y = 0; y <= cells; y++) for (let x = 0; x <= cells; x++) lines.push(`v ${x / cells} ${y / cells} 0`);
  for (let y = 0; y < cells; y++)
    for (let x = 0; x < cells; x++) {
      const at = 1 + x + y * (cells + 1);
      lines.push(`f ${at} ${at + 1} ${at + cells + 2}`, `f ${at} ${at + cells + 2} ${at + cells + 1}`);
    }
  return `${lines.join("\n")}\n`;
}

/** The least contrast of text against its ground; runs on the page. */
function leastContrast() {
  const style = getComputedStyle(document.documentElement);
  const luminance = (name) => {
    const short = style.getPropertyValue(name).trim();
    const hex = short.length === 4 ? short.replace(/[0-9a-f]/gi, "$&$&") : short;
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const pairs = [["--text", "--surface"], ["--quiet", "--surface"], ["--quiet", "--ground"], ["--accent-text", "--accent"], ["--red", "--surface"], ["--good", "--surface"], ["--warn", "--surface"]];
  return Math.min(...pairs.map(([a, b]) => contrast(a, b)));
}
