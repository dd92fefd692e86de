// One view on its own canvas, drawn only when something changed.
//
// While things move and the machine draws slowly, a picture has one pixel per pixel of the page, or half of one while the
// engine needs the processor too; as soon as they rest it is drawn once more at twice that along each side, which smooths
// every edge. Machines that draw fast always get the fine picture.

import * as THREE from "three";

// Colours are mixed as they are shown; nothing is converted on the way.
THREE.ColorManagement.enabled = false;

/** Milliseconds without a change after which the fine picture is drawn. */
const REST = 250;
/** Pixels per pixel of the page, along each side, while the engine works and the machine draws slowly. */
const COARSE = 0.7;
/** A fine picture that takes less than this many milliseconds is drawn always. */
const FAST = 14;

export interface View {
  readonly scene: THREE.Scene;
  readonly camera: THREE.Camera;
  /** Called before drawing; says whether something still moves. */
  update(): boolean;
  resize(width: number, height: number): void;
}

export class Drawing {
  private readonly renderer: THREE.WebGLRenderer;
  private readonly canvas: HTMLCanvasElement;
  private wanted = false;
  private speed: "unknown" | "fast" | "slow" = "unknown";
  private rest = 0;
  /** Frames drawn, for whoever measures. */
  drawn = 0;

  constructor(private readonly area: HTMLElement, private readonly view: View, private readonly isBusy: () => boolean, private readonly onDrawn: () => void = () => {}) {
    this.canvas = document.createElement("canvas");
    area.prepend(this.canvas);
    const context = this.canvas.getContext("webgl2", { alpha: false, antialias: false, stencil: false, powerPreference: "high-performance" });
    if (!context) throw new Error("no WebGL");
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, context });
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    new ResizeObserver(() => this.resize()).observe(area);
  }

  private get isShown(): boolean {
    return this.area.clientWidth > 0 && this.area.clientHeight > 0;
  }

  private resize(): void {
    if (!this.isShown) return;
    const { clientWidth, clientHeight } = this.area;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.measureAgain();
    this.view.resize(clientWidth, clientHeight);
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
    if (!this.isShown) return;
    const moving = this.view.update();
    this.render(this.speed === "fast" ? fine() : this.isBusy() ? COARSE : 1);
    this.drawn++;
    this.onDrawn();
    if (moving) this.invalidate();
    window.clearTimeout(this.rest);
    if (this.speed !== "fast") this.rest = window.setTimeout(() => this.refine(), REST);
  }

  private render(ratio: number): void {
    if (this.renderer.getPixelRatio() !== ratio) this.renderer.setPixelRatio(ratio);
    this.renderer.render(this.view.scene, this.view.camera);
  }

  /** There is more or less to draw than before. */
  measureAgain(): void {
    this.speed = "unknown";
  }

  /** The fine picture, and how long it takes, unless that is known. */
  private refine(): void {
    if (this.isBusy() || !this.isShown) return;
    const start = performance.now();
    this.render(fine());
    if (this.speed !== "unknown") return;
    this.finish();
    this.speed = performance.now() - start < FAST ? "fast" : "slow";
  }

  /** Waits until everything is drawn. */
  private finish(): void {
    const context = this.renderer.getContext();
    context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Puts the picture into another one, at the place where this view is on the page. */
  copyTo(picture: CanvasRenderingContext2D, origin: DOMRect, scale: number): void {
    if (!this.isShown) return;
    this.render(fine());
    const box = this.area.getBoundingClientRect();
    picture.drawImage(this.canvas, scale * (box.left - origin.left), scale * (box.top - origin.top), scale * box.width, scale * box.height);
  }

  /** Graphics memory in use, for whoever measures. */
  memory(): { geometries: number; textures: number } {
    return { geometries: this.renderer.info.memory.geometries, textures: this.renderer.info.memory.textures };
  }
}

function fine(): number {
  return Math.max(2, Math.min(window.devicePixelRatio, 3));
}
