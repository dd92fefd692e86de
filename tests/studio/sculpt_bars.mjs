// Measures the sculpting page: pointer event to picture, frames a second while turning, bytes of an answer.
// Usage: UNSNARL=path/to/release/unsnarl node sculpt_bars.mjs MESH [resolution ...]

import { resolve } from "node:path";
import { startBrowser, startStudio } from "./browser.mjs";

const program = resolve(process.env.UNSNARL ?? "../../target/release/unsnarl");
const [mesh, ...resolutions] = process.argv.slice(2);
const bar = (what, value, bound, good) => console.log(`${good ? "met   " : "MISSED"} ${what}: ${value} (bar: ${bound})`);
const share = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(part * values.length))];

for (const resolution of resolutions.length > 0 ? resolutions : ["240", "2000"]) {
  const studio = await startStudio(program, resolve(mesh), { flags: ["--resolution", resolution] });
  const { page, close } = await startBrowser({ width: 940, height: 600 });
  const start = Date.now();
  await page.goto(studio.link);
  const settled = () => page.waitForFunction(() => document.body.dataset.mode === "sculpt" && window.studio.sculpting.measures.settled && window.studio.sculpting.view.store.blockCount > 0, null, { timeout: 200000 });
  await settled();
  console.log(`${resolution} across: shown after ${Date.now() - start} ms`);
  let box = await page.locator("#sculpt-view").boundingBox();
  await page.setViewportSize({ width: 940 + 640 - Math.round(box.width), height: 600 + 480 - Math.round(box.height) });
  await page.waitForTimeout(600);
  await settled();
  const seen = await page.evaluate(() => ({ bytes: window.studio.sculpting.measures.bytes, vertices: window.studio.sculpting.view.store.vertexCount, forms: window.studio.sculpting.view.store.forms }));
  console.log(`view: ${seen.vertices} vertices and splats, blocks as splats, cells, triangles ${seen.forms}`);

  box = await page.locator("#sculpt-view").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  // Twenty samples, as the bars ask; the slider's square is the share of a quarter of the extent.
  await page.evaluate(() => {
    const { panel, view } = window.studio.sculpting;
    const input = document.getElementById("sculpt-radius");
    const spacing = panel.spacing;
    input.min = "1";
    input.value = String(1000 * Math.sqrt((20 * spacing) / (0.25 * view.extent)));
    input.dispatchEvent(new Event("input"));
  });
  const shares = [];
  await page.evaluate(() => (window.studio.sculpting.measures.latencies.length = 0));
  for (let number = 0; number < 20; number++) {
    const before = await page.evaluate(() => window.studio.sculpting.measures.packets);
    await page.mouse.move(x - 60 + 6 * number, y - 40 + 3 * number);
    await page.mouse.down();
    await page.mouse.move(x - 55 + 6 * number, y - 30 + 3 * number, { steps: 5 });
    await page.waitForTimeout(120);
    await page.mouse.up();
    await page.waitForFunction((before) => window.studio.sculpting.pointer.sentAt.size === 0 && window.studio.sculpting.measures.packets > before, before);
    await settled();
    shares.push((100 * (await page.evaluate(() => window.studio.sculpting.measures.lastBytes))) / seen.bytes);
  }
  const latencies = await page.evaluate(() => window.studio.sculpting.measures.latencies);
  bar(`${resolution} across, pointer to picture, median of ${latencies.length}`, `${share(latencies, 0.5).toFixed(1)} ms`, "50 ms", share(latencies, 0.5) <= 50);
  bar(`${resolution} across, pointer to picture, 95 %`, `${share(latencies, 0.95).toFixed(1)} ms`, "120 ms", share(latencies, 0.95) <= 120);
  bar(`${resolution} across, bytes of a stroke's answer, median`, `${share(shares, 0.5).toFixed(2)} %`, "2 % of the visible set", share(shares, 0.5) < 2);

  const turned = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const { view, drawing } = window.studio.sculpting;
        const [start, drawn] = [performance.now(), drawing.drawn];
        const turn = () => {
          view.turn(0.02);
          if (performance.now() - start < 5000) requestAnimationFrame(turn);
          else resolve((1000 * (drawing.drawn - drawn)) / (performance.now() - start));
        };
        requestAnimationFrame(turn);
      }),
  );
  bar(`${resolution} across, turning at 640 x 480`, `${turned.toFixed(1)} frames a second`, "15", turned >= 15);
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/sculpt_${resolution}.png` });
  await close();
  await studio.stop();
}
