// Measures the studio: time to show, frames a second while orbiting, untangling and dragging, memory over many cycles.
// Beside each rate stands the processor time of studio and browser together for one frame, which depends less on what else
// the machine does. Usage: tests/studio/bars [cycles], or UNSNARL=path/to/release/unsnarl node bars.mjs [cycles [memory]]; with
// `memory` the rates are left out.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { shown, startBrowser, startStudio } from "./browser.mjs";

const program = resolve(process.env.UNSNARL ?? "../../target/release/unsnarl");
const cycles = Number(process.argv[2] ?? 1000);
const folder = mkdtempSync(join(tmpdir(), "unsnarl-bars-"));
const made = { large: 71, middle: 44, small: 8 };
for (const [name, resolution] of Object.entries(made)) {
  execFileSync(program, ["make", "closed", "-o", join(folder, `${name}.obj`), "--resolution", String(resolution), "-q"]);
}
let studio = await startStudio(program, folder);
const { page, close } = await startBrowser({ width: 880, height: 612 });
const residentMegabytes = () => Number(readFileSync(`/proc/${studio.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) / 1024;
const results = [];
const bar = (what, value, bound, good) => {
  results.push(good);
  console.log(`${good ? "met   " : "MISSED"} ${what}: ${value} (bar: ${bound})`);
};

/** Milliseconds of processor time that the studio and the browser have used so far. */
function processorTime() {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return [{ pid: Number(pid), parent: Number(fields[1]), time: 10 * (Number(fields[11]) + Number(fields[12])) }];
    } catch {
      return [];
    }
  });
  const own = new Set([process.pid]);
  for (let before = 0; before < own.size; ) {
    before = own.size;
    for (const { pid, parent } of processes) if (own.has(parent)) own.add(pid);
  }
  own.delete(process.pid);
  return processes.filter(({ pid }) => own.has(pid)).reduce((sum, { time }) => sum + time, 0);
}

async function open(name) {
  await page.evaluate(() => delete document.body.dataset.verdict);
  if (!(await page.isVisible("#chooser"))) await page.click("#open");
  await page.click(`#files button:has-text("${name}.obj")`);
  await shown(page);
  await page.waitForFunction(() => window.studio.measures.shownAfter > 0);
}

async function measureRates() {
  await page.goto(studio.link);
  await page.waitForSelector("#files button");

  await open("large");
  await open("large");
  const after = await page.evaluate(() => window.studio.measures.shownAfter);
  const triangles = (await page.getAttribute("#name", "title")).match(/(\d+) triangles/)[1];
  bar(`${triangles} triangles shown after`, `${after.toFixed(0)} ms`, "1000 ms", after < 1000);

  if ((await page.evaluate(() => document.body.dataset.panels)) === "shown") await page.keyboard.press("u");
  let box = await page.locator("#view3d").boundingBox();
  await page.setViewportSize({ width: 880 + 640 - Math.round(box.width), height: 612 + 480 - Math.round(box.height) });
  await page.waitForTimeout(500);
  box = await page.locator("#view3d").boundingBox();
  await page.mouse.move(box.x + 320, box.y + 240);
  await page.mouse.down();
  const orbit = { drawn: await page.evaluate(() => window.studio.drawn()), start: Date.now(), used: processorTime() };
  while (Date.now() - orbit.start < 5000) {
    const angle = (Date.now() - orbit.start) / 400;
    await page.mouse.move(box.x + 320 + 150 * Math.sin(angle), box.y + 240 + 60 * Math.cos(angle));
  }
  const turned = (await page.evaluate(() => window.studio.drawn())) - orbit.drawn;
  const orbitRate = (1000 * turned) / (Date.now() - orbit.start);
  const orbitCost = (processorTime() - orbit.used) / turned;
  await page.mouse.up();
  bar(`orbit at ${Math.round(box.width)} x ${Math.round(box.height)}`, `${orbitRate.toFixed(1)} frames a second, ${orbitCost.toFixed(0)} ms of processor time each`, "10", orbitRate >= 10);

  await open("middle");
  await page.waitForTimeout(1000);
  const counts = () => page.evaluate(() => [window.studio.measures.frames, window.studio.drawn()]);
  const stream = { counts: await counts(), start: Date.now(), used: processorTime() };
  await page.keyboard.press("Space");
  await page.waitForFunction(() => ["done", "gave-up"].includes(document.body.dataset.activity), null, { timeout: 120000 });
  const seconds = (Date.now() - stream.start) / 1000;
  const [frames, pictures] = (await counts()).map((count, at) => count - stream.counts[at]);
  const [streamed, cost] = [frames / seconds, (processorTime() - stream.used) / frames];
  const steps = await page.textContent("#step-count");
  bar(`untangling ${(made.middle + 1) ** 2 * 2} vertices, ${steps} in ${seconds.toFixed(1)} s`, `${streamed.toFixed(1)} frames a second, ${(pictures / seconds).toFixed(1)} pictures, ${cost.toFixed(0)} ms of processor time each`, "15", streamed >= 15);

  await page.keyboard.press("d");
  box = await page.locator("#view3d").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const drag = { counts: await counts(), start: Date.now(), used: processorTime() };
  while (Date.now() - drag.start < 5000) {
    await page.mouse.move(x, y + 120 * Math.sin((Date.now() - drag.start) / 800));
    await page.waitForTimeout(15);
  }
  const [dragged, drawn] = (await counts()).map((count, at) => (1000 * (count - drag.counts[at])) / (Date.now() - drag.start));
  await page.mouse.up();
  await page.waitForFunction(() => ["done", "gave-up"].includes(document.body.dataset.activity), null, { timeout: 120000 });
  await page.keyboard.press("l");
  bar(`dragging cloth of ${(made.middle + 1) ** 2 * 2} vertices through cloth, ending ${await page.evaluate(() => document.body.dataset.verdict)}`, `${dragged.toFixed(1)} frames a second, ${drawn.toFixed(1)} pictures`, "15", dragged >= 15);
}

async function measureMemory() {
  // Freed memory is given back at once, so that what is resident is what is in use.
  await studio.stop();
  process.env.MIMALLOC_PURGE_DELAY = "0";
  studio = await startStudio(program, folder);
  await page.goto(studio.link);
  await page.waitForSelector("#files button");
  await open("small");
  // The page need not draw what the server's memory is measured over.
  await page.addStyleTag({ content: "#view3d, #panels { display: none !important }" });
  const cycle = async (count) =>
    page.evaluate(async (times) => {
      const until = (want) =>
        new Promise((done) => {
          const look = () => (want() ? done() : setTimeout(look, 1));
          look();
        });
      for (let at = 0; at < times; at++) {
        window.studio.connection.send({ do: "untangle" });
        await until(() => ["done", "gave-up"].includes(document.body.dataset.activity));
        window.studio.connection.send({ do: "undo" });
        await until(() => document.body.dataset.activity === "idle");
      }
    }, count);
  await cycle(Math.ceil(cycles / 10));
  // What is in use at one moment varies with what was freed last, so the least of five readings is compared with the least of the next five.
  const readings = [];
  for (let tenth = 1; tenth <= 10; tenth++) {
    await cycle(Math.ceil(cycles / 10));
    readings.push(residentMegabytes());
    console.log(`       after ${tenth * Math.ceil(cycles / 10)} cycles: ${readings.at(-1).toFixed(1)} MB`);
  }
  const [before, later] = [Math.min(...readings.slice(0, 5)), Math.min(...readings.slice(5))];
  const grown = later - before;
  bar(`memory over ${10 * Math.ceil(cycles / 10)} untangle-undo cycles`, `${before.toFixed(1)} MB, then ${later.toFixed(1)} MB`, "2 MB more", grown < 2);
}

console.log(`on ${cpus().length} cores of ${cpus()[0]?.model}`);
try {
  if (process.argv[3] !== "memory") await measureRates();
  await measureMemory();
} finally {
  await close();
  await studio.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = results.every(Boolean) ? 0 : 1;
