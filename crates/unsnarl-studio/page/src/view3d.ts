// The view in space: cloth from two sides, bodies, contours as thick lines, pins, a section plane.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import { PALETTES, type Theme, contourColour } from "./colours";
import { Flight } from "./flight";
import type { Frame, Opened } from "./messages";

const VERTEX_SHADER = `
attribute float red;
varying vec3 vNormal;
varying vec3 vWorld;
varying float vRed;
void main() {
  vRed = red;
  vNormal = normalMatrix * normal;
  vec4 world = modelMatrix * vec4(position, 1.0);
  vWorld = world.xyz;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT_SHADER = `
uniform vec3 front;
uniform vec3 back;
uniform vec3 redColour;
uniform vec3 greenColour;
uniform float tint;
uniform float opacity;
uniform vec4 section;
varying vec3 vNormal;
varying vec3 vWorld;
varying float vRed;
void main() {
  if (dot(section.xyz, vWorld) > section.w) discard;
  vec3 normal = normalize(vNormal);
  if (!gl_FrontFacing) normal = -normal;
  vec3 base = gl_FrontFacing ? front : back;
  vec3 marked = mix(greenColour, redColour, smoothstep(0.25, 0.75, vRed));
  base = mix(base, marked, tint * mix(0.35, 0.85, smoothstep(0.25, 0.75, vRed)));
  float key = max(dot(normal, normalize(vec3(0.35, 0.6, 0.75))), 0.0);
  float fill = 0.5 + 0.5 * normal.y;
  gl_FragColor = vec4(base * (0.42 + 0.22 * fill + 0.46 * key), opacity);
  #include <colorspace_fragment>
}`;

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
  private geometry: THREE.BufferGeometry | null = null;
  private cloth: THREE.Mesh | null = null;
  private body: THREE.Mesh | null = null;
  private wire: THREE.LineSegments | null = null;
  private lines: LineSegments2[] = [];
  private readonly pins = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 9, sizeAttenuation: false, depthTest: false, transparent: true }));
  private readonly clothMaterial = shaded();
  private readonly bodyMaterial = shaded();
  private readonly wireMaterial = new THREE.LineBasicMaterial({ transparent: true, opacity: 0.28 });
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
    this.camera.position.set(0.6, 0.5, 2);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    const palette = PALETTES[theme];
    this.scene.background = new THREE.Color(palette.background);
    paint(this.clothMaterial, palette.front, palette.back, palette.red, palette.green);
    paint(this.bodyMaterial, palette.body, palette.body, palette.red, palette.body);
    this.wireMaterial.color.set(palette.wire);
    (this.pins.material as THREE.PointsMaterial).color.set(palette.pin);
    this.drawContours();
    this.invalidate();
  }

  setLook(look: Look3d): void {
    this.look = look;
    const clothUniforms = this.clothMaterial.uniforms;
    clothUniforms.tint.value = look.colours ? 1 : 0;
    this.clothMaterial.transparent = look.xray;
    this.clothMaterial.depthWrite = !look.xray;
    clothUniforms.opacity.value = look.xray ? 0.45 : 1;
    this.bodyMaterial.transparent = look.xray;
    this.bodyMaterial.depthWrite = !look.xray;
    this.bodyMaterial.uniforms.opacity.value = look.xray ? 0.18 : 1;
    this.bodyMaterial.uniforms.tint.value = 0;
    this.clothMaterial.needsUpdate = true;
    this.bodyMaterial.needsUpdate = true;
    if (this.wire) this.wire.visible = look.wireframe;
    for (const line of this.lines) line.visible = look.contours;
    const section = new THREE.Vector4(0, 0, 0, 1);
    if (look.section !== "off") {
      const axis = look.section;
      const at = this.bounds.min[axis] + look.sectionShare * (this.bounds.max[axis] - this.bounds.min[axis]);
      section.set(axis === "x" ? 1 : 0, axis === "y" ? 1 : 0, axis === "z" ? 1 : 0, at);
    }
    clothUniforms.section.value = section;
    this.bodyMaterial.uniforms.section.value = section;
    this.invalidate();
  }

  open(opened: Opened): void {
    this.clear();
    const { positions, triangles, edges } = opened.arrays;
    this.clothVertexCount = opened.cloth_vertices;
    const geometry = new THREE.BufferGeometry();
    const position = new THREE.BufferAttribute(positions.slice(), 3);
    position.setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute("position", position);
    geometry.setAttribute("red", new THREE.BufferAttribute(new Float32Array(positions.length / 3), 1));
    const clothTriangles = opened.parts.filter((part) => part.kind === "cloth").reduce((sum, part) => sum + part.triangles[1], 0);
    geometry.setIndex(new THREE.BufferAttribute(triangles.slice(0, 3 * clothTriangles), 1));
    geometry.computeVertexNormals();
    this.geometry = geometry;
    this.cloth = new THREE.Mesh(geometry, this.clothMaterial);
    this.cloth.frustumCulled = false;
    this.root.add(this.cloth);
    if (triangles.length > 3 * clothTriangles) {
      const body = new THREE.BufferGeometry();
      body.setAttribute("position", new THREE.BufferAttribute(positions.slice(), 3));
      body.setAttribute("red", new THREE.BufferAttribute(new Float32Array(positions.length / 3), 1));
      body.setIndex(new THREE.BufferAttribute(triangles.slice(3 * clothTriangles), 1));
      body.computeVertexNormals();
      this.body = new THREE.Mesh(body, this.bodyMaterial);
      this.body.renderOrder = -1;
      this.root.add(this.body);
    }
    const wire = new THREE.BufferGeometry();
    wire.setAttribute("position", position);
    wire.setIndex(new THREE.BufferAttribute(edges.filter((_, at) => edges[at - (at % 2)] < opened.cloth_vertices), 1));
    this.wire = new THREE.LineSegments(wire, this.wireMaterial);
    this.wire.frustumCulled = false;
    this.root.add(this.wire);
    this.root.add(this.pins);
    this.bounds = new THREE.Box3().setFromBufferAttribute(position);
    this.setLook(this.look);
    this.frameAll(false);
  }

  private clear(): void {
    this.root.clear();
    for (const drawn of [this.cloth, this.body, this.wire]) drawn?.geometry.dispose();
    this.cloth = this.body = this.wire = this.geometry = null;
    this.dropContours();
    this.frame = null;
    this.selected = null;
  }

  showPositions(positions: Float32Array): void {
    if (!this.geometry) return;
    const attribute = this.geometry.getAttribute("position") as THREE.BufferAttribute;
    (attribute.array as Float32Array).set(positions.subarray(0, attribute.array.length));
    attribute.needsUpdate = true;
    this.geometry.computeVertexNormals();
    this.geometry.boundingSphere = null;
    this.geometry.boundingBox = null;
    this.invalidate();
  }

  show(frame: Frame): void {
    if (!this.geometry) return;
    this.frame = frame;
    const red = this.geometry.getAttribute("red") as THREE.BufferAttribute;
    (red.array as Float32Array).set(frame.arrays.vertex_colours);
    red.needsUpdate = true;
    this.showPositions(frame.arrays.positions);
    const pinned = new Float32Array(3 * frame.arrays.pins.length);
    frame.arrays.pins.forEach((vertex, at) => pinned.set(frame.arrays.positions.subarray(3 * vertex, 3 * vertex + 3), 3 * at));
    this.pins.geometry.dispose();
    this.pins.geometry = new THREE.BufferGeometry();
    this.pins.geometry.setAttribute("position", new THREE.BufferAttribute(pinned, 3));
    this.drawContours();
  }

  select(contour: number | null): void {
    this.selected = contour;
    this.drawContours();
  }

  private dropContours(): void {
    for (const line of this.lines) {
      this.root.remove(line);
      line.geometry.dispose();
      line.material.dispose();
    }
    this.lines = [];
  }

  private drawContours(): void {
    this.dropContours();
    const frame = this.frame;
    if (!frame || frame.arrays.line_contours.length === 0) return;
    const { lines, line_contours } = frame.arrays;
    const colours = new Float32Array(6 * line_contours.length);
    const colour = new THREE.Color();
    line_contours.forEach((contour, at) => {
      colour.set(contourColour(frame.contours[contour]?.type ?? "OTHER", this.theme));
      for (const end of [0, 3]) colours.set([colour.r, colour.g, colour.b], 6 * at + end);
    });
    this.addLines(lines, colours, 3.2, 1, true);
    this.addLines(lines, colours, 2.2, 0.4, false);
    if (this.selected !== null) {
      const own: number[] = [];
      line_contours.forEach((contour, at) => {
        if (contour === this.selected) own.push(...lines.subarray(6 * at, 6 * at + 6));
      });
      const halo = new THREE.Color(this.theme === "dark" ? "#ffffff" : "#20242a");
      const ring = new Float32Array(own.length);
      for (let at = 0; at < own.length; at += 3) ring.set([halo.r, halo.g, halo.b], at);
      const type = frame.contours[this.selected]?.type ?? "OTHER";
      const tone = new THREE.Color(contourColour(type, this.theme));
      const core = new Float32Array(own.length);
      for (let at = 0; at < own.length; at += 3) core.set([tone.r, tone.g, tone.b], at);
      if (own.length > 0) this.addLines(new Float32Array(own), core, 3.6, 1, false, 2);
      if (own.length > 0) this.addLines(new Float32Array(own), ring, 7.5, 1, false, -1);
    }
    this.invalidate();
  }

  private addLines(points: Float32Array, colours: Float32Array, width: number, opacity: number, depthTest: boolean, order = 1): void {
    const geometry = new LineSegmentsGeometry();
    geometry.setPositions(points);
    geometry.setColors(colours);
    const material = new LineMaterial({ linewidth: width, vertexColors: true, transparent: true, opacity, depthTest, depthWrite: false });
    const line = new LineSegments2(geometry, material);
    line.frustumCulled = false;
    line.renderOrder = 2 + order;
    line.visible = this.look.contours;
    this.lines.push(line);
    this.root.add(line);
  }

  frameAll(animated = true): void {
    if (!this.geometry) return;
    this.bounds = new THREE.Box3().setFromBufferAttribute(this.geometry.getAttribute("position") as THREE.BufferAttribute);
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
    if (!this.cloth || !this.geometry) return null;
    const hit = this.ray(x, y).intersectObject(this.cloth, false)[0];
    if (!hit?.face) return null;
    const position = this.geometry.getAttribute("position") as THREE.BufferAttribute;
    let best: { vertex: number; point: THREE.Vector3 } | null = null;
    for (const vertex of [hit.face.a, hit.face.b, hit.face.c]) {
      const point = new THREE.Vector3().fromBufferAttribute(position, vertex);
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

function shaded(): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    vertexShader: VERTEX_SHADER,
    fragmentShader: FRAGMENT_SHADER,
    side: THREE.DoubleSide,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
    uniforms: {
      front: { value: new THREE.Color() },
      back: { value: new THREE.Color() },
      redColour: { value: new THREE.Color() },
      greenColour: { value: new THREE.Color() },
      tint: { value: 1 },
      opacity: { value: 1 },
      section: { value: new THREE.Vector4(0, 0, 0, 1) },
    },
  });
}

function paint(material: THREE.ShaderMaterial, front: string, back: string, red: string, green: string): void {
  material.uniforms.front.value.set(front);
  material.uniforms.back.value.set(back);
  material.uniforms.redColour.value.set(red);
  material.uniforms.greenColour.value.set(green);
}
