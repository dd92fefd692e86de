// The panels beside the view in space: colours by triangle, both traces of every contour.

import * as THREE from "three";
import { PALETTES, type Theme, contourColour } from "./colours";
import { Flight } from "./flight";
import type { Frame, Opened } from "./messages";
import { Segments, bytes, thickLine } from "./thickLines";
import { distanceToSegment } from "./view3d";

const VERTEX_SHADER = `
attribute vec3 tone;
attribute vec2 corner;
varying vec3 vTone;
varying vec2 vCorner;
void main() {
  vTone = tone;
  vCorner = corner;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FRAGMENT_SHADER = `
uniform vec3 wire;
uniform float wireWidth;
varying vec3 vTone;
varying vec2 vCorner;
void main() {
  vec3 corner = vec3(vCorner, 1.0 - vCorner.x - vCorner.y);
  vec3 pixels = corner / fwidth(corner);
  float line = clamp(wireWidth - min(min(pixels.x, pixels.y), pixels.z), 0.0, 1.0);
  gl_FragColor = vec4(mix(vTone, wire, 0.2 * line), 1.0);
}`;

export class ViewPanels {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.OrthographicCamera(-1, 1, 1, -1, -10, 10);
  private mesh: THREE.Mesh | null = null;
  private readonly material = new THREE.ShaderMaterial({
    vertexShader: VERTEX_SHADER,
    fragmentShader: FRAGMENT_SHADER,
    side: THREE.DoubleSide,
    depthTest: false,
    uniforms: { wire: { value: new THREE.Color() }, wireWidth: { value: 1 } },
  });
  /** The two traces of every contour, and the chosen one. */
  private readonly traces = [new Segments(), new Segments()];
  private readonly chosen = new Segments();
  private readonly lines = [
    thickLine(this.chosen, { width: 8, opacity: 1, depthTest: false, order: 2, nearer: 1 }),
    thickLine(this.traces[0], { width: 3.4, opacity: 1, depthTest: false, order: 3, nearer: 1 }),
    thickLine(this.traces[1], { width: 1.8, opacity: 1, depthTest: false, order: 4, nearer: 1 }),
  ];
  private triangles: Uint32Array = new Uint32Array();
  private bounds = new THREE.Box2(new THREE.Vector2(), new THREE.Vector2(1, 1));
  private frame: Frame | null = null;
  private selected: number | null = null;
  private theme: Theme = "light";
  private width = 1;
  private height = 1;
  private center = new THREE.Vector2();
  private perPixel = 0.01;
  private flight: Flight | null = null;

  constructor(private readonly element: HTMLElement, private readonly invalidate: () => void) {
    let last: { x: number; y: number } | null = null;
    element.addEventListener("pointerdown", (event) => {
      last = { x: event.clientX, y: event.clientY };
      element.setPointerCapture(event.pointerId);
      this.flight = null;
    });
    element.addEventListener("pointermove", (event) => {
      if (!last) return;
      this.center.x -= (event.clientX - last.x) * this.perPixel;
      this.center.y += (event.clientY - last.y) * this.perPixel;
      last = { x: event.clientX, y: event.clientY };
      this.invalidate();
    });
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, () => (last = null));
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const before = this.at(event.clientX, event.clientY);
        this.perPixel *= Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004);
        const after = this.at(event.clientX, event.clientY);
        this.center.add(before.sub(after));
        this.flight = null;
        this.invalidate();
      },
      { passive: false },
    );
  }

  get isEmpty(): boolean {
    return this.triangles.length === 0;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new THREE.Color(PALETTES[theme].background);
    this.material.uniforms.wire.value.set(PALETTES[theme].wire);
    this.colour();
    this.drawContours();
  }

  open(opened: Opened): void {
    this.scene.clear();
    this.mesh?.geometry.dispose();
    this.mesh = this.frame = null;
    this.selected = null;
    const { panels, panel_triangles } = opened.arrays;
    this.triangles = panel_triangles;
    if (this.isEmpty) return;
    const corners = panels.length / 2;
    const points = new Float32Array(3 * corners);
    this.bounds.makeEmpty();
    const at = new THREE.Vector2();
    for (let corner = 0; corner < corners; corner++) {
      points[3 * corner] = panels[2 * corner];
      points[3 * corner + 1] = panels[2 * corner + 1];
      this.bounds.expandByPoint(at.set(panels[2 * corner], panels[2 * corner + 1]));
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    geometry.setAttribute("tone", new THREE.BufferAttribute(new Uint8Array(4 * corners), 4, true));
    const own = Uint8Array.from({ length: 4 * corners }, (_, at) => (Math.floor(at / 4) % 3 === at % 4 ? 255 : 0));
    geometry.setAttribute("corner", new THREE.BufferAttribute(own, 4, true));
    this.mesh = new THREE.Mesh(geometry, this.material);
    this.mesh.onBeforeRender = (renderer) => void (this.material.uniforms.wireWidth.value = 0.25 + 0.5 * renderer.getPixelRatio());
    this.scene.add(this.mesh, ...this.lines);
    this.drawContours();
    this.colour();
    this.frameAll(false);
  }

  show(frame: Frame): void {
    this.frame = frame;
    if (this.isEmpty) return;
    this.colour();
    this.drawContours();
  }

  private colour(): void {
    if (!this.mesh) return;
    const palette = PALETTES[this.theme];
    const shades = [this.frame ? palette.green : palette.front, palette.red, palette.crossing, palette.star].map(bytes);
    const tone = this.mesh.geometry.getAttribute("tone") as THREE.BufferAttribute;
    const marks = this.frame?.arrays.triangle_colours;
    this.triangles.forEach((triangle, index) => {
      const shade = shades[marks ? marks[triangle] : 0];
      for (let corner = 0; corner < 3; corner++) {
        for (let channel = 0; channel < 3; channel++) tone.array[12 * index + 4 * corner + channel] = shade[channel];
      }
    });
    tone.needsUpdate = true;
    this.invalidate();
  }

  select(contour: number | null): void {
    this.selected = contour;
    this.drawContours();
  }

  private drawContours(): void {
    const { panel_lines, panel_line_contours, panel_line_traces } = this.frame?.arrays ?? NO_LINES;
    const halo = bytes(this.theme === "dark" ? "#ffffff" : "#111111");
    const drawn = [...this.traces, this.chosen].map((segments) => ({ segments, points: [] as number[], colours: [] as number[] }));
    panel_line_contours.forEach((contour, at) => {
      const [x0, y0, x1, y1] = panel_lines.subarray(4 * at, 4 * at + 4);
      const add = (into: number, colour: [number, number, number]) => {
        drawn[into].points.push(x0, y0, 1, x1, y1, 1);
        drawn[into].colours.push(...colour);
      };
      add(panel_line_traces[at], bytes(contourColour(this.frame?.contours[contour]?.type ?? "OTHER", this.theme)));
      if (contour === this.selected) add(2, halo);
    });
    for (const { segments, points, colours } of drawn) segments.set(points, colours);
    this.invalidate();
  }

  frameAll(animated = true): void {
    this.flyTo(this.bounds, 1.08, animated);
  }

  flyToContour(contour: number): void {
    if (!this.frame || this.isEmpty) return;
    const { panel_lines, panel_line_contours } = this.frame.arrays;
    const box = new THREE.Box2();
    panel_line_contours.forEach((own, at) => {
      if (own !== contour) return;
      box.expandByPoint(new THREE.Vector2(panel_lines[4 * at], panel_lines[4 * at + 1]));
      box.expandByPoint(new THREE.Vector2(panel_lines[4 * at + 2], panel_lines[4 * at + 3]));
    });
    if (box.isEmpty()) return;
    const whole = this.bounds.getSize(new THREE.Vector2());
    box.expandByScalar(0.06 * Math.max(whole.x, whole.y));
    this.flyTo(box, 1.2, true);
  }

  private flyTo(box: THREE.Box2, margin: number, animated: boolean): void {
    const size = box.getSize(new THREE.Vector2());
    const to = box.getCenter(new THREE.Vector2());
    const scaleTo = Math.max((margin * size.x) / this.width, (margin * size.y) / this.height, 1e-9);
    const [from, scale] = [this.center.clone(), this.perPixel];
    const place = (share: number) => {
      this.center.lerpVectors(from, to, share);
      this.perPixel = scale * (scaleTo / scale) ** share;
    };
    if (animated) this.flight = new Flight(place);
    else place(1);
    this.invalidate();
  }

  resize(width: number, height: number): void {
    const first = this.width <= 1;
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    if (first) this.frameAll(false);
  }

  update(): boolean {
    if (this.flight && !this.flight.advance()) this.flight = null;
    const [w, h] = [(this.width * this.perPixel) / 2, (this.height * this.perPixel) / 2];
    this.camera.left = this.center.x - w;
    this.camera.right = this.center.x + w;
    this.camera.top = this.center.y + h;
    this.camera.bottom = this.center.y - h;
    this.camera.updateProjectionMatrix();
    return this.flight !== null;
  }

  private at(x: number, y: number): THREE.Vector2 {
    const box = this.element.getBoundingClientRect();
    return new THREE.Vector2(
      this.center.x + (x - box.left - box.width / 2) * this.perPixel,
      this.center.y - (y - box.top - box.height / 2) * this.perPixel,
    );
  }

  /** The contour whose trace is under the pointer. */
  contourAt(x: number, y: number): number | null {
    if (!this.frame || this.isEmpty) return null;
    const point = this.at(x, y);
    const { panel_lines, panel_line_contours } = this.frame.arrays;
    let best: number | null = null;
    let nearest = 8 * this.perPixel;
    panel_line_contours.forEach((contour, at) => {
      const [x0, y0, x1, y1] = panel_lines.subarray(4 * at, 4 * at + 4);
      const distance = distanceToSegment([point.x, point.y], [x0, y0], [x1, y1]);
      if (distance < nearest) [nearest, best] = [distance, contour];
    });
    return best;
  }
}

const NO_LINES = { panel_lines: new Float32Array(), panel_line_contours: new Uint32Array(), panel_line_traces: new Uint8Array() };
