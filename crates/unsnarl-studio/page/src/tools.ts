// The pointer on the cloth: turn the view, drag a region, pin and unpin vertices.

import type * as THREE from "three";
import type { Connection } from "./connection";
import type { Frame } from "./messages";
import { element } from "./sidebar";
import type { View3d } from "./view3d";

type Tool = "look" | "drag" | "pin";

export class Tools {
  private tool: Tool = "look";
  private start: THREE.Vector3 | null = null;
  private pressed: [number, number] | null = null;
  private next: [number, number, number] | null = null;

  constructor(
    private readonly view: View3d,
    private readonly connection: Connection,
    private readonly frame: () => Frame | null,
    private readonly pickContour: (x: number, y: number) => void,
  ) {
    const area = element("view3d");
    area.addEventListener("pointerdown", (event) => this.down(event, area), { capture: true });
    area.addEventListener("pointermove", (event) => this.move(event));
    area.addEventListener("pointerup", (event) => this.up(event));
    area.addEventListener("pointercancel", () => this.release());
    for (const button of document.querySelectorAll<HTMLElement>("button[data-tool]")) {
      button.addEventListener("click", () => this.choose(button.dataset.tool as Tool));
    }
    document.body.dataset.tool = "look";
  }

  private choose(tool: Tool): void {
    this.tool = tool;
    document.body.dataset.tool = tool;
    for (const button of document.querySelectorAll<HTMLElement>("button[data-tool]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    }
  }

  private down(event: PointerEvent, area: HTMLElement): void {
    this.pressed = [event.clientX, event.clientY];
    if (this.tool === "look" || event.button !== 0 || document.body.dataset.mode === "cache") return;
    const hit = this.view.vertexAt(event.clientX, event.clientY);
    if (!hit || hit.vertex >= this.view.clothVertexCount) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    if (this.tool === "pin") {
      const pinned = this.frame()?.arrays.pins.includes(hit.vertex) ?? false;
      this.connection.send({ do: pinned ? "unpin" : "pin", vertex: hit.vertex });
      this.pressed = null;
      return;
    }
    area.setPointerCapture(event.pointerId);
    this.start = hit.point;
    const share = Number(element<HTMLInputElement>("radius").value) / 100;
    this.connection.send({ do: "grab", vertex: hit.vertex, radius: 0.3 * share * share * this.view.size() });
  }

  private move(event: PointerEvent): void {
    if (!this.start) return;
    const point = this.view.onPlane(event.clientX, event.clientY, this.start);
    if (!point) return;
    const by = point.sub(this.start);
    const waiting = this.next !== null;
    this.next = [by.x, by.y, by.z];
    // One message per drawn frame is enough; the last one wins.
    if (!waiting) requestAnimationFrame(() => this.flush());
  }

  private flush(): void {
    if (this.next && this.start) this.connection.send({ do: "drag", by: this.next });
    this.next = null;
  }

  private up(event: PointerEvent): void {
    const still = this.pressed && Math.hypot(event.clientX - this.pressed[0], event.clientY - this.pressed[1]) < 4;
    if (this.start) this.release();
    else if (still) this.pickContour(event.clientX, event.clientY);
    this.pressed = null;
  }

  private release(): void {
    if (!this.start) return;
    this.flush();
    this.start = null;
    this.connection.send({ do: "release" });
  }
}
