// The pointer on the volume: strokes from its events, at the rate they come; the server makes them even.

import type { Command, StrokeBrush, StrokeEvent } from "./messages";
import type { SculptView } from "./sculptView";

/** Messages that may be under way before events are kept back. */
const MOST_UNDER_WAY = 2;

export interface BrushSource {
  /** The tool as the panel and the keys have it. */
  brush(event: PointerEvent): StrokeBrush;
  radius(): number;
}

export class BrushPointer {
  private pointer: number | null = null;
  private start = 0;
  private last: { x: number; y: number; pressure: number } | null = null;
  private brush: StrokeBrush | null = null;
  private events: StrokeEvent[] = [];
  private sequence = 0;
  private answered = 0;
  private hovering = false;
  private hover: [number, number] | null = null;
  /** When the first event of each message that is not answered came, for whoever measures. */
  readonly sentAt = new Map<number, number>();

  constructor(
    private readonly area: HTMLElement,
    private readonly view: SculptView,
    private readonly source: BrushSource,
    private readonly send: (command: Command) => void,
  ) {
    area.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    area.addEventListener("pointermove", (event) => this.move(event));
    area.addEventListener("pointerup", (event) => this.up(event));
    area.addEventListener("pointercancel", (event) => this.up(event));
    area.addEventListener("pointerleave", () => this.pointer === null && view.showRing(null, 1));
  }

  get isDown(): boolean {
    return this.pointer !== null;
  }

  private down(event: PointerEvent): void {
    if (this.pointer !== null) {
      // A second finger turns the view.
      this.lift();
      return;
    }
    const ray = this.view.ray(event.clientX, event.clientY);
    if (event.button !== 0 || event.altKey || !this.view.store.isNear(ray)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    this.area.setPointerCapture(event.pointerId);
    this.pointer = event.pointerId;
    this.start = event.timeStamp;
    this.brush = this.source.brush(event);
    this.events = [];
    this.note(event);
    this.flush();
    this.tick();
  }

  private note(event: { clientX: number; clientY: number; timeStamp: number; pressure: number; pointerType?: string }): void {
    const pressure = event.pointerType === "pen" ? Math.min(1, Math.max(0, event.pressure)) : 1;
    this.last = { x: event.clientX, y: event.clientY, pressure };
    this.add(event.timeStamp, this.last);
  }

  private add(timeStamp: number, at: { x: number; y: number; pressure: number }): void {
    const { origin, direction } = this.view.ray(at.x, at.y);
    const time = Math.max(0, (timeStamp - this.start) / 1000);
    this.events.push({ time, pressure: at.pressure, ray: [origin.x, origin.y, origin.z, direction.x, direction.y, direction.z] });
  }

  private move(event: PointerEvent): void {
    this.hoverAt(event.clientX, event.clientY);
    if (event.pointerId !== this.pointer) return;
    const events = event.getCoalescedEvents?.() ?? [];
    for (const part of events.length > 0 ? events : [event]) this.note(part);
  }

  /** While the button is down, the tool works on where the pointer rests. */
  private tick(): void {
    if (this.pointer === null) return;
    if (this.events.length === 0 && this.last) this.add(performance.now(), this.last);
    this.flush();
    requestAnimationFrame(() => this.tick());
  }

  private flush(lift = false): void {
    if (!lift && (this.events.length === 0 || this.sequence - this.answered >= MOST_UNDER_WAY)) return;
    this.sequence++;
    const first = this.events[0];
    this.sentAt.set(this.sequence, this.start + 1000 * (first?.time ?? 0));
    const events = this.events.slice(-500);
    this.send({ do: "stroke", ...(this.brush ? { brush: this.brush } : {}), events, lift, sequence: this.sequence });
    this.brush = null;
    this.events = [];
  }

  private up(event: PointerEvent): void {
    if (event.pointerId === this.pointer) this.lift();
  }

  private lift(): void {
    this.pointer = null;
    this.flush(true);
  }

  /** The server has made all strokes up to a message. */
  answer(sequence: number): number[] {
    this.answered = Math.max(this.answered, sequence);
    const since: number[] = [];
    for (const [number, at] of this.sentAt) {
      if (number > sequence) continue;
      since.push(at);
      this.sentAt.delete(number);
    }
    return since;
  }

  /** The connection was lost: nothing is under way any more. */
  reset(): void {
    this.pointer = null;
    this.answered = this.sequence;
    this.hovering = false;
    this.sentAt.clear();
  }

  /** Asks where the pointer is on the surface; one question at a time. */
  private hoverAt(x: number, y: number): void {
    this.hover = [x, y];
    if (this.hovering) return;
    this.hovering = true;
    const { origin, direction } = this.view.ray(x, y);
    this.hover = null;
    this.send({ do: "aim", ray: [origin.x, origin.y, origin.z, direction.x, direction.y, direction.z] });
  }

  aimed(at: { point: [number, number, number]; normal: [number, number, number] } | null): void {
    this.hovering = false;
    this.view.showRing(at, this.source.radius());
    if (this.hover) this.hoverAt(...this.hover);
  }
}
