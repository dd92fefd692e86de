// The view in space: cloth from two sides, bodies, contours as thick lines, pins, a section plane.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { PALETTES, type Theme, contourColour } from "./colours";
import { Flight } from "./flight";
import type { Frame, Opened } from "./messages";
import { Surface } from "./surface";
import { Segments, bytes, thickLine } from "./thickLines";

/** The share of their distance from the eye that contours keep: they lie where sheets cross, and would be half hidden. */
const LIFTED = 0.996;

export type SectionAxis = "off" | "x" | "y" | "z";

export interface Look3d {
  wireframe: boolean;
  colours: boolean;
  xray: boolean;
  contours: boolean;
  section: SectionAxis;
  sectionShare: number;
}

export class View3d {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.001, 1000);
  readonly controls: OrbitControls;
  private readonly root = new THREE.Group();
  private cloth: Surface | null = null;
  private body: Surface | null = null;
  private positions = new Float32Array();
  private readonly contours = new Segments();
  private readonly chosen = new Segments();
  private readonly lines: THREE.Mesh[] = [
    thickLine(this.contours, { width: 2.2, opacity: 0.4, depthTest: false, order: 2, nearer: LIFTED }),
    thickLine(this.contours, { width: 3.2, opacity: 1, depthTest: true, order: 3, nearer: LIFTED }),
    thickLine(this.chosen, { width: 7.5, opacity: 1, depthTest: false, order: 1, nearer: LIFTED }),
  ];
  private readonly pins = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 9, sizeAttenuation: false, depthTest: false, transparent: true }));
  private bounds = new THREE.Box3(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
  private frame: Frame | null = null;
  private selected: number | null = null;
  private flight: Flight | null = null;
  private theme: Theme = "light";
  private look: Look3d = { wireframe: true, colours: true, xray: false, contours: true, section: "off", sectionShare: 0.5 };
  clothVertexCount = 0;

  constructor(private readonly element: HTMLElement, private readonly invalidate: () => void) {
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", invalidate);
    this.controls.addEventListener("start", () => (this.flight = null));
    this.scene.add(this.root);
    this.pins.renderOrder = 5;
    this.pins.frustumCulled = false;
    this.root.add(this.pins, ...this.lines);
    this.camera.position.set(0.6, 0.5, 2);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    const palette = PALETTES[theme];
    this.scene.background = new THREE.Color(palette.background);
    this.cloth?.paint(palette);
    this.body?.paint({ ...palette, front: palette.body, back: palette.body });
    (this.pins.material as THREE.PointsMaterial).color.set(palette.pin);
    this.drawContours();
    this.invalidate();
  }

  setLook(look: Look3d): void {
    this.look = look;
    const section = this.section();
    this.cloth?.setLook({ wireframe: look.wireframe, colours: look.colours, opacity: look.xray ? 0.45 : 1, section });
    this.body?.setLook({ wireframe: false, colours: false, opacity: look.xray ? 0.18 : 1, section });
    for (const line of this.lines) line.visible = look.contours;
    this.invalidate();
  }

  /** Normal and offset of the section plane. */
  private section(): THREE.Vector4 | null {
    const axis = this.look.section;
    if (axis === "off") return null;
    const at = this.bounds.min[axis] + this.look.sectionShare * (this.bounds.max[axis] - this.bounds.min[axis]);
    return new THREE.Vector4(axis === "x" ? 1 : 0, axis === "y" ? 1 : 0, axis === "z" ? 1 : 0, at);
  }

  open(opened: Opened): void {
    for (const surface of [this.cloth, this.body]) {
      if (surface) this.root.remove(surface.mesh);
      surface?.dispose();
    }
    const { positions, triangles } = opened.arrays;
    this.positions = positions.slice();
    this.clothVertexCount = opened.cloth_vertices;
    this.frame = this.selected = null;
    const corners = 3 * opened.parts.filter((part) => part.kind === "cloth").reduce((sum, part) => sum + part.triangles[1], 0);
    this.cloth = new Surface(triangles.slice(0, corners), positions.length / 3);
    this.body = triangles.length > corners ? new Surface(triangles.slice(corners), positions.length / 3) : null;
    for (const surface of [this.cloth, this.body]) {
      surface?.place(this.positions);
      if (surface) this.root.add(surface.mesh);
    }
    if (this.body) this.body.mesh.renderOrder = -1;
    this.bounds = new THREE.Box3().setFromArray(this.positions);
    this.setTheme(this.theme);
    this.setLook(this.look);
    this.frameAll(false);
  }

  show(frame: Frame): void {
    if (!this.cloth) return;
    this.frame = frame;
    const { positions, bodies, vertex_colours, pins } = frame.arrays;
    this.positions.set(positions.subarray(0, this.positions.length));
    this.cloth.place(this.positions);
    if (bodies?.length) {
      this.positions.set(bodies, 3 * this.clothVertexCount);
      this.body?.place(this.positions);
    }
    this.cloth.mark(vertex_colours);
    const pinned = new Float32Array(3 * pins.length);
    pins.forEach((vertex, at) => pinned.set(positions.subarray(3 * vertex, 3 * vertex + 3), 3 * at));
    this.pins.visible = pins.length > 0;
    this.pins.geometry.dispose();
    this.pins.geometry = new THREE.BufferGeometry();
    this.pins.geometry.setAttribute("position", new THREE.BufferAttribute(pinned, 3));
    this.drawContours();
  }

  select(contour: number | null): void {
    this.selected = contour;
    this.drawContours();
  }

  private drawContours(): void {
    const { lines, line_contours } = this.frame?.arrays ?? { lines: new Float32Array(), line_contours: new Uint32Array() };
    const colours = new Uint8Array(3 * line_contours.length);
    const chosen: number[] = [];
    line_contours.forEach((contour, at) => {
      colours.set(bytes(contourColour(this.frame?.contours[contour]?.type ?? "OTHER", this.theme)), 3 * at);
      if (contour === this.selected) chosen.push(...lines.subarray(6 * at, 6 * at + 6));
    });
    this.contours.set(lines, colours);
    const halo = bytes(this.theme === "dark" ? "#ffffff" : "#20242a");
    this.chosen.set(chosen, Uint8Array.from({ length: chosen.length / 2 }, (_, at) => halo[at % 3]));
    this.invalidate();
  }

  frameAll(animated = true): void {
    if (!this.cloth) return;
    this.bounds = new THREE.Box3().setFromArray(this.positions);
    const center = this.bounds.getCenter(new THREE.Vector3());
    const toward = animated ? this.camera.position.clone().sub(this.controls.target).normalize() : this.frontOf();
    this.fly(center, this.fittingDistance(toward), toward, animated);
  }

  /** How far away the eye must be so that the box around everything just fits. */
  private fittingDistance(toward: THREE.Vector3): number {
    const center = this.bounds.getCenter(new THREE.Vector3());
    const right = new THREE.Vector3(0, 1, 0).cross(toward).normalize();
    const up = toward.clone().cross(right);
    const slope = Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2));
    let distance = 1e-6;
    for (let corner = 0; corner < 8; corner++) {
      const { min, max } = this.bounds;
      const at = new THREE.Vector3(corner & 1 ? max.x : min.x, corner & 2 ? max.y : min.y, corner & 4 ? max.z : min.z).sub(center);
      const across = Math.max(Math.abs(at.dot(right)) / this.camera.aspect, Math.abs(at.dot(up)));
      distance = Math.max(distance, (1.08 * across) / slope + at.dot(toward));
    }
    return distance;
  }

  /** Towards the eye that sees the largest side, a little from above. */
  private frontOf(): THREE.Vector3 {
    const size = this.bounds.getSize(new THREE.Vector3());
    if (size.y < 0.35 * Math.min(size.x, size.z)) return new THREE.Vector3(0.35, 0.9, 0.75).normalize();
    if (size.x < 0.5 * size.z) return new THREE.Vector3(0.9, 0.3, 0.45).normalize();
    return new THREE.Vector3(0.4, 0.32, 0.9).normalize();
  }

  flyTo(center: THREE.Vector3, radius: number, toward?: THREE.Vector3, animated = true): void {
    const direction = toward ?? this.camera.position.clone().sub(this.controls.target).normalize();
    const half = THREE.MathUtils.degToRad(this.camera.fov / 2);
    const narrow = Math.min(1, this.camera.aspect);
    this.fly(center, (1.12 * radius) / (Math.sin(half) * narrow), direction, animated);
  }

  private fly(center: THREE.Vector3, distance: number, direction: THREE.Vector3, animated: boolean): void {
    const size = this.bounds.getSize(new THREE.Vector3()).length();
    this.camera.near = Math.max(size * 1e-4, 1e-6);
    this.camera.far = Math.max(size * 50, distance * 10);
    this.camera.updateProjectionMatrix();
    const eye = center.clone().addScaledVector(direction, distance);
    if (!animated) {
      this.controls.target.copy(center);
      this.camera.position.copy(eye);
      this.controls.update();
    } else {
      const [from, eyeFrom] = [this.controls.target.clone(), this.camera.position.clone()];
      this.flight = new Flight((share) => {
        this.controls.target.lerpVectors(from, center, share);
        this.camera.position.lerpVectors(eyeFrom, eye, share);
      });
    }
    this.invalidate();
  }

  flyToContour(contour: number): void {
    const found = this.frame?.contours[contour];
    if (!found) return;
    const whole = 0.5 * this.bounds.getSize(new THREE.Vector3()).length();
    this.flyTo(new THREE.Vector3(...found.center), Math.max(found.radius * 1.6, whole * 0.12));
  }

  /** Called before drawing; says whether the camera still moves. */
  update(): boolean {
    if (this.flight && !this.flight.advance()) this.flight = null;
    const moved = this.controls.update();
    return moved || this.flight !== null;
  }

  resize(width: number, height: number): void {
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  private ray(x: number, y: number): THREE.Raycaster {
    const box = this.element.getBoundingClientRect();
    const at = new THREE.Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height);
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    return caster;
  }

  /** The cloth vertex nearest to where the pointer hits the cloth. */
  vertexAt(x: number, y: number): { vertex: number; point: THREE.Vector3 } | null {
    const { cloth } = this;
    const hit = cloth ? this.ray(x, y).intersectObject(cloth.mesh, false)[0] : undefined;
    if (!cloth || !hit?.face) return null;
    let best: { vertex: number; point: THREE.Vector3 } | null = null;
    for (const corner of [hit.face.a, hit.face.b, hit.face.c]) {
      const vertex = cloth.vertexOf(corner);
      const point = new THREE.Vector3().fromArray(this.positions, 3 * vertex);
      if (!best || point.distanceToSquared(hit.point) < best.point.distanceToSquared(hit.point)) best = { vertex, point };
    }
    return best;
  }

  /** Where the pointer is on the plane through a point that faces the eye. */
  onPlane(x: number, y: number, through: THREE.Vector3): THREE.Vector3 | null {
    const normal = this.camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, through);
    return this.ray(x, y).ray.intersectPlane(plane, new THREE.Vector3());
  }

  /** The contour under the pointer. */
  contourAt(x: number, y: number): number | null {
    const frame = this.frame;
    if (!frame) return null;
    const box = this.element.getBoundingClientRect();
    const pixel = (at: number): [number, number] => {
      const point = new THREE.Vector3().fromArray(frame.arrays.lines, at).project(this.camera);
      return [box.left + ((point.x + 1) / 2) * box.width, box.top + ((1 - point.y) / 2) * box.height];
    };
    let best: number | null = null;
    let nearest = 8;
    frame.arrays.line_contours.forEach((contour, segment) => {
      const distance = distanceToSegment([x, y], pixel(6 * segment), pixel(6 * segment + 3));
      if (distance < nearest) [nearest, best] = [distance, contour];
    });
    return best;
  }

  size(): number {
    return this.bounds.getSize(new THREE.Vector3()).length();
  }
}

export function distanceToSegment(p: [number, number], a: [number, number], b: [number, number]): number {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = dx * dx + dy * dy;
  const along = length > 0 ? Math.max(0, Math.min(1, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length)) : 0;
  return Math.hypot(p[0] - a[0] - along * dx, p[1] - a[1] - along * dy);
}
