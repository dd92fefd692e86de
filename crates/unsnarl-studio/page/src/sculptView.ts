// The volume in space: blocks, the ring of the tool, a camera that tells the server where it looks.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { BlockStore } from "./blockStore";
import { PALETTES, type Theme } from "./colours";
import type { Command, Sculpture } from "./messages";
import { paints } from "./splats";

/** Milliseconds between two messages about the camera. */
const BREAK = 120;

export class SculptView {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.001, 1000);
  readonly controls: OrbitControls;
  readonly store = new BlockStore();
  private readonly paint = paints();
  private readonly ring = new THREE.LineLoop(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ depthTest: false, transparent: true, opacity: 0.9 }));
  private readonly needle = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ depthTest: false, transparent: true, opacity: 0.7 }));
  private bounds = new THREE.Box3();
  private size: [number, number] = [1, 1];
  private told = 0;
  private waiting: number | undefined;

  constructor(private readonly element: HTMLElement, private readonly invalidate: () => void, private readonly send: (command: Command) => void) {
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.2;
    this.controls.addEventListener("change", () => {
      this.tellCamera();
      invalidate();
    });
    const mesh = new THREE.Mesh(this.store.triangles, this.paint.triangles);
    const points = new THREE.Points(this.store.points, this.paint.points);
    for (const shown of [mesh, points]) {
      shown.frustumCulled = false;
      shown.onBeforeRender = (renderer) => this.paint.setView(this.camera, renderer.domElement.height);
    }
    const circle = Array.from({ length: 64 }, (_, at) => new THREE.Vector3(Math.cos((at * Math.PI) / 32), Math.sin((at * Math.PI) / 32), 0));
    this.ring.geometry.setFromPoints(circle);
    this.needle.geometry.setFromPoints([new THREE.Vector3(), new THREE.Vector3(0, 0, 0.6)]);
    for (const line of [this.ring, this.needle]) {
      line.renderOrder = 3;
      line.frustumCulled = false;
      line.visible = false;
    }
    this.scene.add(mesh, points, this.ring, this.needle);
  }

  setTheme(theme: Theme): void {
    const palette = PALETTES[theme];
    this.scene.background = new THREE.Color(palette.background);
    this.paint.setColour(palette.body);
    const tone = theme === "dark" ? "#ffc145" : "#1f5f66";
    for (const line of [this.ring, this.needle]) (line.material as THREE.LineBasicMaterial).color.set(tone);
    this.invalidate();
  }

  open(volume: Sculpture, look: boolean): void {
    this.store.clear({ origin: volume.origin, spacing: volume.spacing, blockWidth: volume.block_width, units: volume.units });
    const [low, high] = volume.bounds ?? [[-1, -1, -1], [1, 1, 1]];
    this.bounds = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high));
    this.resize(this.element.clientWidth, this.element.clientHeight);
    if (look) this.frameAll();
    this.tellCamera();
    this.invalidate();
  }

  frameAll(): void {
    const center = this.bounds.getCenter(new THREE.Vector3());
    const radius = 0.5 * this.bounds.getSize(new THREE.Vector3()).length();
    const half = THREE.MathUtils.degToRad(this.camera.fov / 2);
    const distance = (0.92 * radius) / (Math.sin(half) * Math.min(1, this.camera.aspect));
    this.controls.target.copy(center);
    this.camera.position.copy(center).addScaledVector(new THREE.Vector3(0.35, 0.28, 0.9).normalize(), distance);
    this.controls.update();
    this.invalidate();
  }

  /** Turns the eye around the middle by an angle, for whoever measures. */
  turn(angle: number): void {
    const away = this.camera.position.clone().sub(this.controls.target).applyAxisAngle(new THREE.Vector3(0, 1, 0), angle);
    this.camera.position.copy(this.controls.target).add(away);
    this.controls.update();
    this.invalidate();
  }

  /** Tells the server where the eye is, at once or as soon as the last word is old enough. */
  private tellCamera(): void {
    window.clearTimeout(this.waiting);
    const rest = this.told + BREAK - performance.now();
    this.waiting = window.setTimeout(() => this.tellNow(), Math.max(0, rest));
  }

  private tellNow(): void {
    if (this.size[0] <= 1) return;
    this.told = performance.now();
    this.camera.updateMatrixWorld();
    const forward = this.camera.getWorldDirection(new THREE.Vector3());
    const up = new THREE.Vector3(0, 1, 0).applyQuaternion(this.camera.quaternion);
    this.send({
      do: "camera",
      eye: this.camera.position.toArray(),
      forward: forward.toArray(),
      up: up.toArray(),
      field_of_view: THREE.MathUtils.degToRad(this.camera.fov),
      pixels: this.size,
    });
  }

  /** Called before drawing; says whether the camera still moves. */
  update(): boolean {
    const moves = this.controls.update();
    this.fitDepth();
    return moves;
  }

  /** Puts the planes of the view close around the body: a depth of 16 bits would mix up its front and its back. */
  private fitDepth(): void {
    const radius = 0.5 * this.bounds.getSize(new THREE.Vector3()).length();
    const distance = this.bounds.getCenter(new THREE.Vector3()).distanceTo(this.camera.position);
    this.camera.near = Math.max(distance - 1.5 * radius, 0.01 * radius);
    this.camera.far = distance + 3 * radius;
    this.camera.updateProjectionMatrix();
  }

  resize(width: number, height: number): void {
    this.size = [Math.max(1, width), Math.max(1, height)];
    this.camera.aspect = this.size[0] / this.size[1];
    this.camera.updateProjectionMatrix();
    if (!this.bounds.isEmpty()) this.tellCamera();
  }

  ray(x: number, y: number): THREE.Ray {
    const box = this.element.getBoundingClientRect();
    const at = new THREE.Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height);
    const caster = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    caster.setFromCamera(at, this.camera);
    return caster.ray;
  }

  /** Shows the ring of the tool on the surface, or hides it. */
  showRing(at: { point: [number, number, number]; normal: [number, number, number] } | null, radius: number): void {
    for (const line of [this.ring, this.needle]) {
      line.visible = at !== null;
      if (!at) continue;
      line.position.set(...at.point);
      line.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...at.normal).normalize());
      line.scale.setScalar(radius);
    }
    this.invalidate();
  }

  get extent(): number {
    return this.bounds.getSize(new THREE.Vector3()).length();
  }

  /** The middle of the body, where mirror planes lie. */
  get middle(): THREE.Vector3 {
    return this.bounds.getCenter(new THREE.Vector3());
  }
}
