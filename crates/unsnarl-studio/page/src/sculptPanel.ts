// Everything around the volume: tools, radius, strength, falloff, mirror, figures, refine.

import type { BrushSource } from "./brush";
import type { Command, SculptFigures, Sculpture, SculptStatus, StrokeBrush, ToolName } from "./messages";
import { element, length } from "./sidebar";

const TOOLS: ToolName[] = ["raise", "lower", "smooth", "roughen", "flatten", "pull", "stamp"];
const OPPOSITE: Partial<Record<ToolName, ToolName>> = { raise: "lower", lower: "raise", smooth: "roughen", roughen: "smooth" };

/** The smallest radius in samples: below it strokes would not be smooth. */
const SMALLEST = 2;

export class SculptPanel implements BrushSource {
  private tool: ToolName = "raise";
  private spacing = 1;
  private extent = 1;
  private middle: [number, number, number] = [0, 0, 0];

  constructor(send: (command: Command) => void, private readonly changed: () => void) {
    for (const button of document.querySelectorAll<HTMLElement>("button[data-sculpt]")) {
      button.addEventListener("click", () => this.choose(button.dataset.sculpt as ToolName));
    }
    element("sculpt-radius").addEventListener("input", () => this.show());
    element("sculpt-strength").addEventListener("input", () => this.show());
    element("refine").addEventListener("click", () => send({ do: "refine" }));
    element("sculpt-undo").addEventListener("click", () => send({ do: "undo" }));
    element("sculpt-redo").addEventListener("click", () => send({ do: "redo" }));
  }

  choose(tool: ToolName): void {
    this.tool = tool;
    document.body.dataset.sculpt = tool;
    for (const button of document.querySelectorAll<HTMLElement>("button[data-sculpt]")) {
      button.setAttribute("aria-pressed", String(button.dataset.sculpt === tool));
    }
  }

  /** The tool with a number, for keys. */
  chooseNumber(number: number): void {
    if (TOOLS[number]) this.choose(TOOLS[number]);
  }

  open(volume: Sculpture, middle: [number, number, number], extent: number): void {
    this.spacing = volume.spacing;
    this.extent = extent;
    this.middle = middle;
    element("block-size").textContent = `${volume.block_width}³ samples`;
    this.status(volume);
    this.choose(this.tool);
    this.show();
  }

  status(status: Sculpture | SculptStatus): void {
    element("sculpt-resolution").textContent = `${status.resolution} samples, ${length(this.spacing)} apart`;
    element("sculpt-blocks").textContent = status.stored_blocks.toLocaleString("en");
    element("sculpt-memory").textContent = memory(status.bytes);
    this.depth(status.undo_depth);
  }

  figures(figures: SculptFigures): void {
    element("sculpt-volume").textContent = volume(figures.volume);
    element("refine-note").textContent = `${memory(figures.bytes)} now, ${memory(figures.refined_bytes)} after. Convex parts sink by about an eighth of the squared spacing times the sum of the curvatures.`;
  }

  depth([undo, redo]: [number, number]): void {
    element<HTMLButtonElement>("sculpt-undo").disabled = undo === 0;
    element<HTMLButtonElement>("sculpt-redo").disabled = redo === 0;
  }

  stroke(milliseconds: number): void {
    element("sculpt-time").textContent = `${milliseconds.toFixed(1)} ms`;
  }

  frames(perSecond: number): void {
    element("sculpt-fps").textContent = perSecond > 0 ? perSecond.toFixed(0) : "–";
  }

  radius(): number {
    const share = Number(element<HTMLInputElement>("sculpt-radius").value) / 1000;
    return Math.max(SMALLEST * this.spacing, 0.25 * this.extent * share * share);
  }

  /** Larger or smaller by a factor. */
  scaleRadius(factor: number): void {
    const input = element<HTMLInputElement>("sculpt-radius");
    input.value = String(Math.max(20, Math.min(1000, Number(input.value) * Math.sqrt(factor))));
    this.show();
  }

  private strength(tool: ToolName): number {
    const share = Number(element<HTMLInputElement>("sculpt-strength").value) / 100;
    // Along the normal: radii a second. By curvature: features up to half the radius in a second.
    const flows = tool === "smooth" || tool === "roughen";
    return flows ? Math.min(this.radius() * share, 60 * this.spacing) : 1.5 * this.radius() * share;
  }

  private show(): void {
    element("sculpt-radius-label").textContent = `${length(this.radius())}, ${(this.radius() / this.spacing).toFixed(0)} samples`;
    element("sculpt-coarse").hidden = this.radius() > 1.01 * SMALLEST * this.spacing;
    this.changed();
  }

  brush(event: PointerEvent): StrokeBrush {
    const plain = event.shiftKey ? "smooth" : this.tool;
    const tool = (event.ctrlKey || event.metaKey) && !event.shiftKey ? (OPPOSITE[plain] ?? plain) : plain;
    const axis = element<HTMLSelectElement>("sculpt-mirror").value;
    const falloff = element<HTMLSelectElement>("sculpt-falloff").value as StrokeBrush["falloff"];
    const [shape, operation] = element<HTMLSelectElement>("sculpt-stamp").value.split(" ");
    const inverted = (event.ctrlKey || event.metaKey) && tool === "stamp";
    const stamp = { shape, operation: (operation === "difference") !== inverted ? ("difference" as const) : ("union" as const), blend: 0.2 * this.radius() };
    return {
      tool,
      radius: this.radius(),
      strength: this.strength(tool),
      falloff,
      ...(axis === "off" ? {} : { mirror: { axis: axis as "x", at: this.middle["xyz".indexOf(axis)] } }),
      ...(tool === "stamp" ? stamp : {}),
    };
  }
}

function memory(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

function volume(cubicMetres: number): string {
  return cubicMetres >= 0.01 ? `${cubicMetres.toFixed(3)} m³` : `${(1e6 * cubicMetres).toFixed(1)} cm³`;
}
