// The panels beside the view in space: colours by triangle, both traces of every contour.

import * as THREE from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import { PALETTES, type Theme, contourColour } from "./colours";
import { Flight } from "./flight";
import type { Frame, Opened } from "./messages";
import { distanceToSegment } from "./view3d";

export class ViewPanels {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.OrthographicCamera(-1, 1, 1, -1, -10, 10);
  private mesh: THREE.Mesh | null = null;
  private outline: THREE.LineSegments | null = null;
  private lines: LineSegments2[] = [];
  private triangles: Uint32Array = new Uint32Array();
  private bounds = new THREE.Box2(new THREE.Vector2(), new THREE.Vector2(1, 1));
  private frame: Frame | null = null;
  private selected: number | null = null;
  private theme: Theme = "light";
  private width = 1;
  private height = 1;
  private center = new THREE.Vector2();
  private perPixel = 0.01;
  private readonly outlineMaterial = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.16 });
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
    this.outlineMaterial.color.set(PALETTES[theme].wire);
    this.colour();
    this.drawContours();
  }

  open(opened: Opened): void {
    this.scene.clear();
    this.mesh?.geometry.dispose();
    this.outline?.geometry.dispose();
    this.dropContours();
    this.mesh = this.outline = this.frame = null;
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
    const position = new THREE.BufferAttribute(points, 3);
    geometry.setAttribute("position", position);
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * corners), 3));
    this.mesh = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide }));
    const wire = new THREE.BufferGeometry();
    wire.setAttribute("position", position);
    const edges = new Uint32Array(2 * corners);
    for (let corner = 0; corner < corners; corner++) {
      edges[2 * corner] = corner;
      edges[2 * corner + 1] = corner - (corner % 3) + ((corner + 1) % 3);
    }
    wire.setIndex(new THREE.BufferAttribute(edges, 1));
    this.outline = new THREE.LineSegments(wire, this.outlineMaterial);
    this.outline.renderOrder = 1;
    this.scene.add(this.mesh, this.outline);
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
    const shades = [palette.green, palette.red, palette.crossing, palette.star].map((shade) => new THREE.Color(shade));
    if (!this.frame) shades[0].set(palette.front);
    const colours = this.mesh.geometry.getAttribute("color") as THREE.BufferAttribute;
    const values = colours.array as Float32Array;
    const marks = this.frame?.arrays.triangle_colours;
    this.triangles.forEach((triangle, index) => {
      const shade = shades[marks ? marks[triangle] : 0];
      for (let corner = 0; corner < 3; corner++) {
        const at = 9 * index + 3 * corner;
        values[at] = shade.r;
        values[at + 1] = shade.g;
        values[at + 2] = shade.b;
      }
    });
    colours.needsUpdate = true;
    this.invalidate();
  }

  select(contour: number | null): void {
    this.selected = contour;
    this.drawContours();
  }

  private dropContours(): void {
    for (const line of this.lines) {
      this.scene.remove(line);
      line.geometry.dispose();
      line.material.dispose();
    }
    this.lines = [];
  }

  private drawContours(): void {
    this.dropContours();
    const frame = this.frame;
    if (!frame || this.isEmpty) return;
    const { panel_lines, panel_line_contours, panel_line_traces } = frame.arrays;
    for (const [trace, width] of [
      [-1, 8],
      [0, 3.4],
      [1, 1.8],
    ]) {
      const points: number[] = [];
      const colours: number[] = [];
      const colour = new THREE.Color();
      panel_line_contours.forEach((contour, at) => {
        const wanted = trace < 0 ? contour === this.selected : panel_line_traces[at] === trace;
        if (!wanted) return;
        const [x0, y0, x1, y1] = panel_lines.subarray(4 * at, 4 * at + 4);
        points.push(x0, y0, 1, x1, y1, 1);
        if (trace < 0) colour.set(this.theme === "dark" ? "#ffffff" : "#111111");
        else colour.set(contourColour(frame.contours[contour]?.type ?? "OTHER", this.theme));
        for (let end = 0; end < 2; end++) colours.push(colour.r, colour.g, colour.b);
      });
      if (points.length === 0) continue;
      const geometry = new LineSegmentsGeometry();
      geometry.setPositions(points);
      geometry.setColors(colours);
      const material = new LineMaterial({ linewidth: width, vertexColors: true, depthTest: false, transparent: true });
      const line = new LineSegments2(geometry, material);
      line.frustumCulled = false;
      line.renderOrder = 3 + trace;
      this.lines.push(line);
      this.scene.add(line);
    }
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
