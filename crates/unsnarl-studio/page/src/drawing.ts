// One canvas for both views, drawn only when something changed.

import * as THREE from "three";
import type { View3d } from "./view3d";
import type { ViewPanels } from "./viewPanels";

export class Drawing {
  private readonly renderer: THREE.WebGLRenderer;
  private wanted = false;
  /** Frames drawn, for whoever measures. */
  drawn = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly areas: [HTMLElement, HTMLElement],
    private readonly views: () => [View3d, ViewPanels],
  ) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setScissorTest(true);
    const watch = new ResizeObserver(() => this.resize());
    for (const area of [canvas.parentElement as HTMLElement, ...areas]) watch.observe(area);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement as HTMLElement;
    this.renderer.setSize(clientWidth, clientHeight, false);
    const [space, panels] = this.views();
    space.resize(this.areas[0].clientWidth, this.areas[0].clientHeight);
    if (this.areas[1].clientWidth > 0) panels.resize(this.areas[1].clientWidth, this.areas[1].clientHeight);
    this.draw();
  }

  invalidate(): void {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.draw();
    });
  }

  private draw(): void {
    const [space, panels] = this.views();
    let moving = space.update();
    this.region(this.areas[0], space.scene, space.camera);
    if (this.areas[1].clientWidth > 0) {
      moving = panels.update() || moving;
      this.region(this.areas[1], panels.scene, panels.camera);
    }
    this.drawn++;
    if (moving) this.invalidate();
  }

  private region(area: HTMLElement, scene: THREE.Scene, camera: THREE.Camera): void {
    const whole = this.canvas.getBoundingClientRect();
    const box = area.getBoundingClientRect();
    const [x, y] = [box.left - whole.left, whole.bottom - box.bottom];
    this.renderer.setViewport(x, y, box.width, box.height);
    this.renderer.setScissor(x, y, box.width, box.height);
    this.renderer.render(scene, camera);
  }

  /** A PNG of what is on the canvas. */
  picture(): Promise<Blob | null> {
    this.draw();
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }

  /** Graphics memory in use, for whoever measures. */
  memory(): { geometries: number; textures: number } {
    return { geometries: this.renderer.info.memory.geometries, textures: this.renderer.info.memory.textures };
  }
}
