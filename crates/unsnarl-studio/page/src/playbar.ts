// Playback of a simulation: play, scrub, speed, the report of each frame, and a strip of contours per frame.

import type { Frame, Opened } from "./messages";
import { element, make } from "./sidebar";

export class Playbar {
  private readonly scrub = element<HTMLInputElement>("scrub");
  private readonly strip = element<HTMLCanvasElement>("strip");
  private readonly play = element<HTMLButtonElement>("play");
  private opened: Opened | null = null;
  private counts: number[] = [];
  private current = 0;
  private wanted: number | null = null;
  private asked = false;
  private playing = false;
  private due = 0;

  constructor(private readonly ask: (frame: number) => void) {
    this.play.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => {
      this.pause();
      this.go(Number(this.scrub.value));
    });
    new ResizeObserver(() => this.drawStrip()).observe(this.strip);
  }

  get isActive(): boolean {
    return this.opened !== null;
  }

  open(opened: Opened): void {
    this.pause();
    this.opened = opened.last_frame === undefined ? null : opened;
    this.counts = [];
    this.current = 0;
    this.asked = false;
    this.wanted = null;
    this.scrub.max = String(opened.last_frame ?? 0);
    this.scrub.value = "0";
    if (this.opened) this.go(0);
    this.drawStrip();
  }

  toggle(): void {
    if (this.playing) this.pause();
    else if (this.opened) {
      this.playing = true;
      this.play.textContent = "Pause";
      if (this.current >= (this.opened.last_frame ?? 0)) this.current = -1;
      this.due = performance.now();
      this.next();
    }
  }

  pause(): void {
    this.playing = false;
    this.play.textContent = "Play";
  }

  step(by: number): void {
    this.pause();
    this.go(this.current + by);
  }

  private next(): void {
    if (!this.playing || !this.opened) return;
    const rate = (this.opened.frame_rate ?? 24) * Number(element<HTMLSelectElement>("speed").value);
    const now = performance.now();
    const frames = Math.max(1, Math.floor(((now - this.due) * rate) / 1000));
    this.due = Math.max(this.due + (1000 * frames) / rate, now - 250);
    const wait = this.due - performance.now();
    window.setTimeout(() => this.playing && this.go(this.current + frames), Math.max(0, wait));
  }

  /** Asks for a frame; while one is on its way, only the latest wish is kept. */
  go(frame: number): void {
    const last = this.opened?.last_frame ?? 0;
    const number = Math.max(0, Math.min(last, frame));
    if (this.asked) this.wanted = number;
    else {
      this.asked = true;
      this.ask(number);
    }
  }

  arrived(frame: Frame): void {
    const opened = this.opened;
    if (!opened || frame.number === undefined) return;
    this.asked = false;
    this.current = frame.number;
    this.scrub.value = String(frame.number);
    element("frame-number").textContent = `${frame.number} / ${opened.last_frame} · ${(frame.time ?? 0).toFixed(2)} s`;
    this.showReport(frame);
    this.drawStrip();
    if (this.wanted !== null) {
      const wanted = this.wanted;
      this.wanted = null;
      this.go(wanted);
    } else if (this.playing) {
      if (this.current >= (opened.last_frame ?? 0)) this.pause();
      else this.next();
    }
  }

  count(frame: number, contours: number): void {
    this.counts[frame] = contours;
    this.drawStrip();
  }

  private showReport(frame: Frame): void {
    const report = this.opened?.reports?.find((own) => own.frame === frame.number);
    const rows: [string, string][] = [["contours", String(frame.contour_count)]];
    for (const [field, value] of Object.entries(report ?? {})) {
      if (field === "frame") continue;
      if (typeof value === "number") rows.push([field.replaceAll("_", " "), number(value)]);
      else if (value && typeof value === "object")
        for (const [inner, own] of Object.entries(value)) if (typeof own === "number") rows.push([inner.replaceAll("_", " "), number(own)]);
    }
    element("frame-report").replaceChildren(
      ...rows.flatMap(([name, value]) => {
        const term = make("dt");
        const content = make("dd");
        term.textContent = name;
        content.textContent = value;
        return [term, content];
      }),
    );
  }

  private drawStrip(): void {
    const context = this.strip.getContext("2d");
    const width = this.strip.clientWidth;
    if (!context || width === 0 || !this.opened) return;
    this.strip.width = width;
    const style = getComputedStyle(document.documentElement);
    const frames = (this.opened.last_frame ?? 0) + 1;
    const most = Math.max(1, ...this.counts.filter((count) => count > 0));
    const pitch = width / frames;
    for (let frame = 0; frame < frames; frame++) {
      const count = this.counts[frame];
      context.globalAlpha = count === undefined ? 0.25 : count === 0 ? 0.45 : 0.45 + 0.55 * (count / most);
      context.fillStyle = style.getPropertyValue(count === undefined ? "--line" : count === 0 ? "--good" : "--red");
      context.fillRect(frame * pitch, 0, Math.max(pitch - (pitch > 3 ? 1 : 0), 0.5), 10);
    }
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--text");
    context.fillRect(this.current * pitch, 0, Math.max(2, pitch * 0.3), 10);
  }
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
