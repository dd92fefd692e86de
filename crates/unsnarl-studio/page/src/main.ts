// The page: wires the connection, the views, the lists and the tools together. No algorithm is here.

import "./style.css";
import { Chooser, type Choice } from "./chooser";
import { PALETTES, type Theme } from "./colours";
import { Connection } from "./connection";
import { Drawing } from "./drawing";
import { listen } from "./keys";
import type { Frame, FromServer, Opened } from "./messages";
import { Playbar } from "./playbar";
import { Plot } from "./plot";
import { SaveDialog, deliver } from "./saving";
import { SculptMode } from "./sculptMode";
import { Sidebar, element, length, make } from "./sidebar";
import { showStage } from "./stageName";
import { Tools } from "./tools";
import { type Look3d, type SectionAxis, View3d } from "./view3d";
import { ViewPanels } from "./viewPanels";

const body = document.body;
let theme: Theme = storedTheme();
let source: Choice | null = null;
let opened: Opened | null = null;
let frame: Frame | null = null;
let selected: number | null = null;
let running = false;
let arrived: Frame | null = null;
/** While something runs, what is beside the view in space is shown anew at most this often, milliseconds. */
const BREAK = 200;
let due: number | undefined;
const look: Look3d = { wireframe: true, colours: true, xray: false, contours: true, section: "off", sectionShare: 0.5 };
/** Counters for whoever measures: frames received, and when a garment was asked for and shown. */
const measures = { frames: 0, askedAt: 0, shownAfter: 0 };

const drawings: Drawing[] = [];
const space = new View3d(element("view3d"), () => drawings[0]?.invalidate());
const panels = new ViewPanels(element("panels"), () => drawings[1]?.invalidate());
try {
  drawings.push(new Drawing(element("view3d"), space, () => running), new Drawing(element("panels"), panels, () => running));
} catch {
  banner("This browser gives no WebGL, which the views need. Turn on hardware acceleration, or use another browser.");
  throw new Error("no WebGL");
}
const plot = new Plot(element<HTMLCanvasElement>("plot"));
const sidebar = new Sidebar(() => theme, (contour) => select(contour, "fly"));
const playbar = new Playbar((number) => connection.send({ do: "frame", number }));
const chooser = new Chooser(choose, (text) => toast(text, "bad"), () => connection.send({ do: "welcome" }));
const saving = new SaveDialog((command) => connection.send(command));
const connection = new Connection({
  open(again) {
    banner(null);
    connection.send({ do: "welcome" });
    if (again && source) {
      ask(source);
      toast("The studio is back. The garment was opened again as it is in its file.");
    }
  },
  lost() {
    running = false;
    sculpting.pointer.reset();
    showActivity();
    banner("The studio does not answer. Trying again; if it was started anew, use the link it printed.");
  },
  message: receive,
});
const sculpting = new SculptMode((command) => connection.send(command));
new Tools(space, connection, () => frame, (x, y) => select(space.contourAt(x, y), "stay"));

function storedTheme(): Theme {
  const stored = localStorage.getItem("theme");
  if (stored === "light" || stored === "dark") return stored;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function setTheme(next: Theme): void {
  theme = next;
  document.documentElement.dataset.theme = next;
  space.setTheme(next);
  panels.setTheme(next);
  sculpting.setTheme(next);
  sidebar.draw();
  plot.draw();
  const palette = PALETTES[next];
  const legend: [string, string][] = [
    [palette.front, "front"],
    [palette.back, "back"],
    [palette.red, "red: cut off"],
    [palette.green, "green"],
  ];
  element("legend").replaceChildren(
    ...legend.map(([colour, label]) => {
      const item = make("span");
      const swatch = make("i");
      swatch.style.background = colour;
      item.append(swatch, label);
      return item;
    }),
  );
}

function choose(choice: Choice): void {
  source = choice;
  ask(choice);
}

function ask(choice: Choice): void {
  measures.askedAt = performance.now();
  measures.shownAfter = 0;
  if (choice.kind === "upload") connection.upload(choice.name, choice.bytes);
  else if (choice.kind === "path") connection.send({ do: "open", path: choice.path });
  else if (choice.kind === "volume") connection.send({ do: "open-volume", path: choice.path });
  else connection.send({ do: "sample", name: choice.name });
}

function receive(message: FromServer): void {
  if (sculpting.receive(message)) return;
  switch (message.type) {
    case "welcome": {
      chooser.fill(message);
      fillSelect("method", message.methods);
      fillSelect("style", message.styles ?? []);
      element("method-label").hidden = message.methods.length < 2;
      element("style-label").hidden = (message.styles ?? []).length < 2;
      if (!message.opens && !opened && !sculpting.isOpen) chooser.show();
      return;
    }
    case "opened":
      return showOpened(message);
    case "frame":
      return showSoon(message);
    case "strip":
      return playbar.count(message.number, message.contours);
    case "error":
      if (!opened && !sculpting.isOpen) chooser.show();
      return toast(message.text, "bad");
    case "exists":
      return saving.exists(message.path, message.text);
    case "saved":
      saving.close();
      return toast(`${message.path} is written${message.clean && !sculpting.isOpen ? ", certified clean" : ""}.`);
    case "download":
      return deliver(message.arrays.file, `${stem()}.${message.format}`);
  }
}

/** Shows the latest frame when the browser draws next; frames that came in between are left out. */
function showSoon(message: Frame): void {
  if (arrived === null) {
    requestAnimationFrame(() => {
      const latest = arrived;
      arrived = null;
      if (latest) showFrame(latest);
    });
  }
  arrived = message;
}

function stem(): string {
  if (sculpting.isOpen) return `${(sculpting.name.split("/").pop() ?? "volume").replace(/\.[^.]+$/, "")}_sculpted`;
  const name = (opened?.name ?? "garment").split(" + ")[0].split("/").pop() ?? "garment";
  return `${name.replace(/\.[^.]+$/, "")}_fixed`;
}

function showOpened(message: Opened): void {
  opened = message;
  frame = null;
  arrived = null;
  selected = null;
  body.dataset.mode = message.last_frame === undefined ? "garment" : "cache";
  element("report-section").hidden = message.last_frame === undefined;
  element("name").textContent = message.name;
  element("name").title = message.parts.map((part) => `${part.name}: ${part.vertices[1]} vertices, ${part.triangles[1]} triangles`).join("\n");
  chooser.hide();
  delete body.dataset.chooser;
  for (const old of document.querySelectorAll(".toast.bad")) old.remove();
  sidebar.partCount = message.parts.length;
  space.open(message);
  panels.open(message);
  for (const drawing of drawings) drawing.measureAgain();
  element("panels").classList.toggle("empty", panels.isEmpty);
  setPanels(!panels.isEmpty && window.innerWidth > 720);
  plot.clear();
  playbar.open(message);
  if (message.remarks.length > 0) toast(message.remarks.slice(0, 3).join("\n"));
}

function showFrame(message: Frame): void {
  measures.frames++;
  const first = frame === null;
  const turned = frame?.activity !== message.activity;
  const before = selected !== null ? frame?.contours[selected] : undefined;
  frame = message;
  running = message.activity === "untangling";
  space.show(message);
  if (first) requestAnimationFrame(() => (measures.shownAfter = performance.now() - measures.askedAt));
  if (before) {
    const again = message.contours.findIndex((own) => own.type === before.type && distance(own.center, before.center) < 0.5 * before.radius + 1e-6);
    if (again !== selected) select(again < 0 ? null : again, "stay");
  }
  if (message.number === undefined) plot.add(message.steps, message.red_vertices, message.contour_length);
  else playbar.arrived(message);
  const moves = running || message.activity === "playing";
  if (!moves || turned) showBeside();
  else due ??= window.setTimeout(showBeside, BREAK);
}

/** Everything beside the view in space, which alone keeps pace while something runs. */
function showBeside(): void {
  window.clearTimeout(due);
  due = undefined;
  const message = frame;
  if (!message) return;
  panels.show(message);
  sidebar.show(message);
  plot.draw();
  element("red-now").textContent = String(message.red_vertices);
  element("length-now").textContent = length(message.contour_length);
  element("step-count").textContent = message.steps === 1 ? "1 step" : `${message.steps} steps`;
  showActivity();
  showStage(message.activity);
  if (message.activity === "gave-up") toast(`Something is left after ${message.steps} steps. Drag it free, or untangle again.`, "bad");
}

function distance(a: number[], b: number[]): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function showActivity(): void {
  const ready = frame !== null && connection.isOpen;
  const chip = element("verdict");
  chip.hidden = frame === null;
  body.dataset.activity = running ? "untangling" : (frame?.activity ?? "idle");
  if (frame) {
    const verdict = frame.verdict;
    const kind = verdict === "tangled" ? "tangled" : verdict === "clean" ? "clean" : "touching";
    body.dataset.verdict = kind;
    chip.className = `chip ${kind}`;
    chip.textContent =
      verdict === "tangled" ? `${frame.contour_count} ${frame.contour_count === 1 ? "contour" : "contours"}` : verdict === "clean" ? "Clean, certified" : `${verdict.touching} pairs touch`;
  }
  const untangle = element<HTMLButtonElement>("untangle");
  untangle.disabled = !ready;
  untangle.textContent = running ? "Pause" : "Untangle";
  for (const id of ["step", "stage-step"]) element<HTMLButtonElement>(id).disabled = !ready || running;
  element<HTMLButtonElement>("undo").disabled = !ready || (frame?.undo_depth[0] ?? 0) === 0;
  element<HTMLButtonElement>("redo").disabled = !ready || (frame?.undo_depth[1] ?? 0) === 0;
  for (const id of ["save", "screenshot"]) element<HTMLButtonElement>(id).disabled = !ready;
}

function select(contour: number | null, then: "fly" | "stay"): void {
  selected = contour;
  sidebar.select(contour);
  space.select(contour);
  panels.select(contour);
  if (contour !== null && then === "fly") {
    space.flyToContour(contour);
    panels.flyToContour(contour);
  } else if (contour !== null) panels.flyToContour(contour);
}

function walk(by: number): void {
  const count = frame?.contours.length ?? 0;
  if (count > 0) select(((selected ?? (by > 0 ? -1 : 0)) + by + count) % count, "fly");
}

function untangleOrPause(): void {
  if (playbar.isActive) return playbar.toggle();
  if (!frame) return;
  if (running) connection.send({ do: "pause" });
  else {
    const style = element<HTMLSelectElement>("style").value;
    connection.send({ do: "untangle", method: element<HTMLSelectElement>("method").value, ...(style ? { style } : {}) });
  }
}

function setPanels(shown: boolean): void {
  if (shown) body.dataset.panels = "shown";
  else delete body.dataset.panels;
  element("panels-toggle").setAttribute("aria-pressed", String(shown));
}

function setLook(change: Partial<Look3d>): void {
  Object.assign(look, change);
  space.setLook({ ...look });
  for (const button of document.querySelectorAll<HTMLElement>("[data-look]")) {
    button.setAttribute("aria-pressed", String(look[button.dataset.look as "wireframe"]));
  }
  element<HTMLSelectElement>("section").value = look.section;
  element("section-share").hidden = look.section === "off";
}

function fillSelect(id: string, options: { name: string; label: string }[]): void {
  const chosen = element<HTMLSelectElement>(id).value;
  element<HTMLSelectElement>(id).replaceChildren(...options.map((option) => new Option(option.label, option.name, false, option.name === chosen)));
}

async function screenshot(): Promise<void> {
  const origin = element("stage").getBoundingClientRect();
  const scale = Math.min(window.devicePixelRatio, 2);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(scale * origin.width), Math.round(scale * origin.height)];
  const picture = canvas.getContext("2d");
  if (!picture) return;
  for (const drawing of sculpting.isOpen ? [sculpting.drawing] : drawings) drawing.copyTo(picture, origin, scale);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) deliver(new Uint8Array(await blob.arrayBuffer()), `${stem()}.png`);
}

function toast(text: string, kind: "plain" | "bad" = "plain"): void {
  const shown = make("div", kind === "bad" ? "toast bad" : "toast");
  shown.textContent = text;
  const toasts = element("toasts");
  toasts.append(shown);
  while (toasts.children.length > 3) toasts.firstElementChild?.remove();
  window.setTimeout(() => shown.remove(), kind === "bad" ? 12000 : 5000);
}

function banner(text: string | null): void {
  element("banner").hidden = text === null;
  element("banner").textContent = text ?? "";
}

function click(id: string, run: () => void): void {
  element(id).addEventListener("click", run);
}

const toggleTheme = () => {
  setTheme(theme === "dark" ? "light" : "dark");
  localStorage.setItem("theme", theme);
};
const save = () => {
  if (sculpting.isOpen) saving.open(stem(), "clean", "level");
  else if (frame) saving.open(stem(), body.dataset.verdict ?? "tangled");
};
const frameAll = () => {
  if (sculpting.isOpen) return sculpting.view.frameAll();
  select(null, "stay");
  space.frameAll();
  panels.frameAll();
};
const frameSelection = () => (selected === null ? frameAll() : select(selected, "fly"));
const sections: SectionAxis[] = ["off", "x", "y", "z"];
click("open", () => chooser.show());
click("save", save);
click("screenshot", () => void screenshot());
click("theme", toggleTheme);
click("help", () => element<HTMLDialogElement>("help-dialog").showModal());
click("untangle", untangleOrPause);
click("step", () => connection.send({ do: "step" }));
click("stage-step", () => connection.send({ do: "stage" }));
click("undo", () => connection.send({ do: "undo" }));
click("redo", () => connection.send({ do: "redo" }));
click("frame-all", frameAll);
click("panels-toggle", () => setPanels(body.dataset.panels !== "shown"));
for (const button of document.querySelectorAll<HTMLElement>("[data-look]")) {
  button.addEventListener("click", () => setLook({ [button.dataset.look as string]: button.getAttribute("aria-pressed") !== "true" }));
}
element("section").addEventListener("change", (event) => setLook({ section: (event.target as HTMLSelectElement).value as SectionAxis }));
element("section-share").addEventListener("input", (event) => setLook({ sectionShare: Number((event.target as HTMLInputElement).value) / 100 }));
let pressedAt = [0, 0];
element("panels").addEventListener("pointerdown", (event) => (pressedAt = [event.clientX, event.clientY]));
element("panels").addEventListener("click", (event) => {
  if (Math.hypot(event.clientX - pressedAt[0], event.clientY - pressedAt[1]) > 4) return;
  const contour = panels.contourAt(event.clientX, event.clientY);
  if (contour === null) return;
  select(contour, "stay");
  space.flyToContour(contour);
});
const tool = (name: string) => () => document.querySelector<HTMLElement>(`button[data-tool="${name}"]`)?.click();
listen([
  { keys: [" "], shown: "Space", what: "untangle, pause, play", page: "garment", run: untangleOrPause },
  { keys: ["s", "arrowright"], shown: "S or →", what: "one step or frame", page: "garment", run: () => (playbar.isActive ? playbar.step(1) : connection.send({ do: "step" })) },
  { keys: ["arrowleft"], shown: "←", what: "one frame back", page: "garment", run: () => playbar.isActive && playbar.step(-1) },
  { keys: ["."], shown: ".", what: "one stage", page: "garment", run: () => connection.send({ do: "stage" }) },
  { keys: ["z", "ctrl+z"], shown: "Z", what: "undo", run: () => connection.send({ do: "undo" }) },
  { keys: ["shift+z", "y", "ctrl+y", "ctrl+shift+z"], shown: "Shift Z", what: "redo", run: () => connection.send({ do: "redo" }) },
  { keys: ["l"], shown: "L", what: "look", page: "garment", run: tool("look") },
  { keys: ["d"], shown: "D", what: "drag cloth", page: "garment", run: tool("drag") },
  { keys: ["p"], shown: "P", what: "pin and unpin", page: "garment", run: tool("pin") },
  { keys: ["[", "bracketleft"], shown: "[", what: "smaller tool", page: "sculpt", run: () => sculpting.panel.scaleRadius(0.8) },
  { keys: ["]", "bracketright"], shown: "]", what: "larger tool", page: "sculpt", run: () => sculpting.panel.scaleRadius(1.25) },
  ...["raise", "lower", "smooth", "roughen", "flatten", "pull", "stamp"].map((what, number) => ({ keys: [String(number + 1)], shown: String(number + 1), what, page: "sculpt" as const, run: () => sculpting.panel.chooseNumber(number) })),
  { keys: ["n"], shown: "N", what: "next contour", page: "garment", run: () => walk(1) },
  { keys: ["b"], shown: "B", what: "contour before", page: "garment", run: () => walk(-1) },
  { keys: ["f"], shown: "F", what: "frame selection", page: "garment", run: frameSelection },
  { keys: ["home", "shift+f"], shown: "Home", what: "frame everything", run: frameAll },
  { keys: ["w"], shown: "W", what: "wireframe", page: "garment", run: () => setLook({ wireframe: !look.wireframe }) },
  { keys: ["c"], shown: "C", what: "red and green", page: "garment", run: () => setLook({ colours: !look.colours }) },
  { keys: ["k"], shown: "K", what: "contours", page: "garment", run: () => setLook({ contours: !look.contours }) },
  { keys: ["x"], shown: "X", what: "see through", page: "garment", run: () => setLook({ xray: !look.xray }) },
  { keys: ["v"], shown: "V", what: "section plane", page: "garment", run: () => setLook({ section: sections[(sections.indexOf(look.section) + 1) % 4] }) },
  { keys: ["u"], shown: "U", what: "panels", page: "garment", run: () => setPanels(body.dataset.panels !== "shown") },
  { keys: ["o"], shown: "O", what: "open", run: () => chooser.show() },
  { keys: ["ctrl+s"], shown: "Ctrl S", what: "save", run: save },
  { keys: ["i"], shown: "I", what: "picture", run: () => void screenshot() },
  { keys: ["t"], shown: "T", what: "light or dark", run: toggleTheme },
  { keys: ["?"], shown: "?", what: "this help", run: () => element<HTMLDialogElement>("help-dialog").showModal() },
  { keys: ["escape"], shown: "Esc", what: "close, deselect", run: () => (chooser.isShown ? chooser.hide() : select(null, "stay")) },
]);
setTheme(theme);
setLook({});
Object.assign(window, { studio: { measures, connection, sculpting, space, panels, pins: () => frame?.arrays.pins.length ?? 0, drawings, drawn: () => drawings[0].drawn, memory: () => drawings.map((drawing) => drawing.memory()) } });
