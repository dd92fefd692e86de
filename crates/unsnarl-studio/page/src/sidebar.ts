// The list of contours, totals by type, and the times of the stages.

import { type Theme, contourColour } from "./colours";
import { CONTOUR_TYPES, type ContourType, type Frame } from "./messages";

const MEANINGS: Record<ContourType, string> = {
  CLOSED: "a closed curve on each sheet",
  EIGHT: "a closed curve that crosses itself",
  CROSS: "two closed curves that cross on the sheet",
  LL: "from fold tip to fold tip",
  BBII: "an edge pushed through, from border to border",
  BIBI: "each sheet's border enters the other",
  BLI: "from a border to a fold tip",
  OTHER: "ends where more than two triangles meet",
};

/** The stages of a step, in order. */
const STAGES = ["analysis", "untangle", "dynamics", "contact"];

export class Sidebar {
  private readonly list = element("contours");
  private readonly totals = element("totals");
  private readonly times = element("times");
  /** How many named parts there are; with one, its name says nothing. */
  partCount = 1;
  private selected: number | null = null;
  private frame: Frame | null = null;

  constructor(private readonly theme: () => Theme, onSelect: (contour: number) => void) {
    this.list.addEventListener("click", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("li[data-contour]");
      if (row) onSelect(Number(row.dataset.contour));
    });
    this.list.addEventListener("keydown", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("li[data-contour]");
      if (row && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        event.stopPropagation();
        onSelect(Number(row.dataset.contour));
      }
    });
  }

  show(frame: Frame): void {
    this.frame = frame;
    this.draw();
  }

  select(contour: number | null): void {
    this.selected = contour;
    for (const row of this.list.querySelectorAll<HTMLElement>("li[data-contour]")) {
      const own = Number(row.dataset.contour) === contour;
      row.setAttribute("aria-selected", String(own));
      if (own) row.scrollIntoView({ block: "nearest" });
    }
  }

  draw(): void {
    const frame = this.frame;
    if (!frame) return;
    element("contour-count").textContent = String(frame.contour_count);
    this.totals.replaceChildren(
      ...CONTOUR_TYPES.filter((type) => type !== "OTHER" || frame.types.OTHER > 0).map((type) => {
        const total = make("span", frame.types[type] > 0 ? "total some" : "total");
        total.style.setProperty("--tone", contourColour(type, this.theme()));
        total.title = MEANINGS[type];
        total.dataset.type = type;
        total.dataset.count = String(frame.types[type]);
        total.append(make("i"), `${type} ${frame.types[type]}`);
        return total;
      }),
    );
    this.list.replaceChildren(...(frame.contours.length > 0 ? frame.contours.map((_, at) => this.row(frame, at)) : [this.emptyRow(frame)]));
    if (frame.contour_count > frame.contours.length) {
      const more = make("li", "empty");
      more.textContent = `and ${frame.contour_count - frame.contours.length} shorter ones, drawn but not listed`;
      this.list.append(more);
    }
    this.drawTimes(frame);
  }

  private row(frame: Frame, at: number): HTMLElement {
    const contour = frame.contours[at];
    const row = make("li");
    row.dataset.contour = String(at);
    row.tabIndex = 0;
    row.setAttribute("aria-selected", String(at === this.selected));
    row.style.setProperty("--tone", contourColour(contour.type, this.theme()));
    row.title = `${MEANINGS[contour.type]}; ${contour.segments} triangle pairs`;
    const [a, b] = contour.sheets;
    const figures = make("span", "figures");
    const region = make("small");
    const [first, second] = contour.regions;
    region.textContent = first + second === 0 ? "cuts nothing off" : `${first} | ${second} vertices`;
    figures.append(length(contour.length), region);
    row.append(make("i"), text("type", contour.type), text("parts", a !== b ? `${a} · ${b}` : this.partCount > 1 ? a : "with itself"), figures);
    return row;
  }

  private emptyRow(frame: Frame): HTMLElement {
    const row = make("li", "empty");
    row.textContent =
      frame.verdict === "clean"
        ? "Nothing crosses. Every pair of triangles was checked exactly."
        : `Nothing crosses, but ${typeof frame.verdict === "object" ? frame.verdict.touching : 0} triangle pairs touch.`;
    return row;
  }

  private drawTimes(frame: Frame): void {
    const entries = STAGES.map((stage) => [stage, frame.stage_times[stage] ?? 0] as const).filter(([, time]) => time > 0);
    const most = Math.max(...entries.map(([, time]) => time), 1e-9);
    this.times.replaceChildren(
      ...entries.map(([stage, time]) => {
        const row = make("div");
        const bar = make("i");
        bar.style.width = `${(100 * time) / most}%`;
        row.append(text("", stage), bar, text("", `${time < 10 ? time.toFixed(1) : time.toFixed(0)} ms`));
        return row;
      }),
    );
  }
}

export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
}

export function make(tag: string, className = ""): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}

function text(className: string, content: string): HTMLElement {
  const made = make("span", className);
  made.textContent = content;
  return made;
}

export function length(metres: number): string {
  if (metres >= 1) return `${metres.toFixed(2)} m`;
  if (metres >= 0.01) return `${(100 * metres).toFixed(1)} cm`;
  return `${(1000 * metres).toFixed(1)} mm`;
}
