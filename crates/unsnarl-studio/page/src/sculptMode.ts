// The sculpting side of the page: opens when the server lays out a volume, closes when a garment is opened.

import { BrushPointer } from "./brush";
import type { Theme } from "./colours";
import { Drawing } from "./drawing";
import type { FromServer, Command } from "./messages";
import { SculptPanel } from "./sculptPanel";
import { SculptView } from "./sculptView";
import { element } from "./sidebar";

export class SculptMode {
  readonly view: SculptView;
  readonly panel: SculptPanel;
  readonly pointer: BrushPointer;
  readonly drawing: Drawing;
  /** For whoever measures: milliseconds from a pointer event to its picture, and bytes of answers. */
  readonly measures = { latencies: [] as number[], bytes: 0, lastBytes: 0, settled: false, packets: 0, figures: 0 };
  name = "";
  private since: number[] = [];
  private frames: number[] = [];
  private bytesSinceStroke = 0;
  private counting: number | undefined;

  constructor(private readonly send: (command: Command) => void) {
    const area = element("sculpt-view");
    this.view = new SculptView(area, () => this.drawing?.invalidate(), send);
    this.panel = new SculptPanel(send, () => this.view.showRing(null, 1));
    this.pointer = new BrushPointer(area, this.view, this.panel, send);
    this.drawing = new Drawing(area, this.view, () => this.pointer.isDown, () => this.drawn());
    area.addEventListener(
      "wheel",
      (event) => {
        if (!event.shiftKey) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        this.panel.scaleRadius(event.deltaY + event.deltaX > 0 ? 0.9 : 1 / 0.9);
      },
      { capture: true, passive: false },
    );
  }

  get isOpen(): boolean {
    return document.body.dataset.mode === "sculpt";
  }

  setTheme(theme: Theme): void {
    this.view.setTheme(theme);
  }

  /** Says whether the message was for this side. */
  receive(message: FromServer): boolean {
    switch (message.type) {
      case "sculpture": {
        const again = this.isOpen && message.name === this.name;
        this.name = message.name;
        document.body.dataset.mode = "sculpt";
        delete document.body.dataset.chooser;
        element("name").textContent = message.name;
        element("verdict").hidden = true;
        this.measures.settled = false;
        this.pointer.reset();
        this.view.open(message, !again);
        this.panel.open(message, this.view.middle.toArray(), this.view.extent);
        for (const id of ["save", "screenshot"]) element<HTMLButtonElement>(id).disabled = false;
        this.drawing.measureAgain();
        this.countSoon();
        return true;
      }
      case "blocks": {
        this.view.store.apply(message);
        this.measures.packets++;
        const bytes = Object.values(message.arrays).reduce((sum, array) => sum + array.byteLength, 0);
        this.measures.bytes += bytes;
        this.bytesSinceStroke += bytes;
        if (message.settled) [this.measures.lastBytes, this.bytesSinceStroke] = [this.bytesSinceStroke, 0];
        this.measures.settled = message.settled;
        this.since.push(...this.pointer.answer(message.sequence));
        this.panel.stroke(message.stroke_milliseconds);
        this.panel.depth(message.undo_depth);
        this.drawing.invalidate();
        return true;
      }
      case "aim":
        this.pointer.aimed(message.point ? { point: message.point, normal: message.normal } : null);
        return true;
      case "sculpt-status":
        this.pointer.answer(message.sequence);
        this.panel.status(message);
        this.countSoon();
        return true;
      case "sculpt-figures":
        this.measures.figures++;
        this.panel.figures(message);
        return true;
      default:
        return false;
    }
  }

  /** Asks for the figures that take a while, when the hand rests. */
  private countSoon(): void {
    window.clearTimeout(this.counting);
    this.counting = window.setTimeout(() => (this.pointer.isDown ? this.countSoon() : this.send({ do: "figures" })), 800);
  }

  private drawn(): void {
    this.view.store.sent();
    const now = performance.now();
    for (const at of this.since) this.measures.latencies.push(now - at);
    this.since = [];
    this.frames = [...this.frames.filter((at) => now - at < 1000), now];
    this.panel.frames(this.frames.length);
  }
}
