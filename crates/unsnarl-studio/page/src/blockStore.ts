// What the page holds of a volume: one buffer for triangles and one for splats; a block is a range of either.

import * as THREE from "three";
import type { Blocks } from "./messages";

export type Form = 0 | 1 | 2;
const TRIANGLES = 2;

/** Hands out ranges of a growing buffer; ranges given back are used again. */
class Ranges {
  private readonly free = new Map<number, number[]>();
  /** The end of what was ever handed out. */
  end = 0;

  /** A multiple of three for corners, so that every range begins with a triangle. */
  static rounded(count: number): number {
    return Math.max(1, count <= 8 ? count : Math.ceil(count / 24) * 24);
  }

  take(count: number): number {
    const size = Ranges.rounded(count);
    const found = this.free.get(size)?.pop();
    if (found !== undefined) return found;
    const start = this.end;
    this.end += size;
    return start;
  }

  give(start: number, count: number): void {
    const size = Ranges.rounded(count);
    const list = this.free.get(size);
    if (list) list.push(start);
    else this.free.set(size, [start]);
  }
}

interface Held {
  form: Form;
  vertices: [number, number];
  corners: [number, number];
  center: THREE.Vector3;
}

export interface Layout {
  origin: [number, number, number];
  spacing: number;
  blockWidth: number;
  units: number;
}

/** An attribute that grows by doubling and is sent in the parts that changed. */
class Column<T extends Float32Array | Int8Array | Uint32Array> {
  attribute: THREE.BufferAttribute;
  private parts = 0;

  constructor(private readonly geometry: THREE.BufferGeometry, private readonly name: string, private readonly make: (length: number) => T, readonly size: number, private readonly normalized = false) {
    this.attribute = this.attach(make(1024 * size));
  }

  private attach(array: T): THREE.BufferAttribute {
    const attribute = new THREE.BufferAttribute(array, this.size, this.normalized);
    attribute.setUsage(THREE.DynamicDrawUsage);
    if (this.name === "index") this.geometry.setIndex(attribute);
    else this.geometry.setAttribute(this.name, attribute);
    return attribute;
  }

  get array(): T {
    return this.attribute.array as T;
  }

  /** Makes room for a number of elements. */
  reserve(count: number): void {
    if (count * this.size <= this.array.length) return;
    const grown = this.make(Math.max(2 * this.array.length, count * this.size));
    grown.set(this.array as never);
    this.attribute = this.attach(grown);
    this.parts = 0;
  }

  changed(start: number, count: number): void {
    this.parts++;
    if (this.parts > 400) this.attribute.clearUpdateRanges();
    else this.attribute.addUpdateRange(start * this.size, count * this.size);
    this.attribute.needsUpdate = true;
  }

  sent(): void {
    this.attribute.clearUpdateRanges();
    this.parts = 0;
  }
}

export class BlockStore {
  readonly triangles = new THREE.BufferGeometry();
  readonly points = new THREE.BufferGeometry();
  private readonly corners = new Column(this.triangles, "index", (n) => new Uint32Array(n), 1);
  private readonly places = new Column(this.triangles, "position", (n) => new Float32Array(n), 3);
  private readonly normals = new Column(this.triangles, "normal", (n) => new Int8Array(n), 4, true);
  private readonly splatPlaces = new Column(this.points, "position", (n) => new Float32Array(n), 3);
  private readonly splatNormals = new Column(this.points, "normal", (n) => new Int8Array(n), 4, true);
  private readonly splatRadii = new Column(this.points, "radius", (n) => new Float32Array(n), 1);
  private vertexRanges = new Ranges();
  private cornerRanges = new Ranges();
  private pointRanges = new Ranges();
  private readonly held = new Map<string, Held>();
  private layout: Layout = { origin: [0, 0, 0], spacing: 1, blockWidth: 8, units: 4096 };

  /** Forgets everything. */
  clear(layout: Layout): void {
    this.layout = layout;
    this.held.clear();
    this.vertexRanges = new Ranges();
    this.cornerRanges = new Ranges();
    this.pointRanges = new Ranges();
    this.corners.array.fill(0);
    this.corners.changed(0, this.corners.array.length);
    this.setDrawn();
  }

  get blockCount(): number {
    return this.held.size;
  }

  /** Vertices and splats held. */
  get vertexCount(): number {
    let count = 0;
    for (const block of this.held.values()) count += block.vertices[1];
    return count;
  }

  /** Blocks of each form. */
  get forms(): [number, number, number] {
    const forms: [number, number, number] = [0, 0, 0];
    for (const block of this.held.values()) forms[block.form]++;
    return forms;
  }

  apply(blocks: Blocks): void {
    const { table, gone, radii, positions, normals, indices } = blocks.arrays;
    for (let at = 0; at < gone.length; at += 3) this.drop(key(gone[at] | 0, gone[at + 1] | 0, gone[at + 2] | 0));
    const places = new Uint16Array(positions.buffer, positions.byteOffset, positions.length / 2);
    const corners = new Uint16Array(indices.buffer, indices.byteOffset, indices.length / 2);
    let vertex = 0;
    let corner = 0;
    for (let row = 0; row < table.length / 6; row++) {
      const [x, y, z] = [table[6 * row] | 0, table[6 * row + 1] | 0, table[6 * row + 2] | 0];
      const form = table[6 * row + 3] as Form;
      const [count, cornerCount] = [table[6 * row + 4], 3 * table[6 * row + 5]];
      const name = key(x, y, z);
      this.drop(name);
      if (count > 0) {
        const block = this.place([x, y, z], form, count, cornerCount);
        this.fill(block, [x, y, z], places.subarray(3 * vertex), normals.subarray(2 * vertex), radii[row]);
        const [start] = block.corners;
        const first = block.vertices[0];
        for (let at = 0; at < cornerCount; at++) this.corners.array[start + at] = first + corners[corner + at];
        if (cornerCount > 0) this.corners.changed(start, cornerCount);
        this.held.set(name, block);
      }
      vertex += count;
      corner += cornerCount;
    }
    this.setDrawn();
  }

  private place(block: [number, number, number], form: Form, count: number, cornerCount: number): Held {
    const mesh = form === TRIANGLES;
    const start = (mesh ? this.vertexRanges : this.pointRanges).take(count);
    const first = mesh ? this.cornerRanges.take(cornerCount) : 0;
    if (mesh) {
      for (const column of [this.places, this.normals]) column.reserve(this.vertexRanges.end);
      this.corners.reserve(this.cornerRanges.end);
    } else for (const column of [this.splatPlaces, this.splatNormals, this.splatRadii]) column.reserve(this.pointRanges.end);
    const { origin, spacing, blockWidth } = this.layout;
    const center = new THREE.Vector3(...block.map((c, axis) => origin[axis] + spacing * blockWidth * (c + 0.5)));
    return { form, vertices: [start, count], corners: [first, cornerCount], center };
  }

  private fill(block: Held, at: [number, number, number], places: Uint16Array, normals: Uint8Array, radius: number): void {
    const { origin, spacing, blockWidth, units } = this.layout;
    const [start, count] = block.vertices;
    const mesh = block.form === TRIANGLES;
    const position = (mesh ? this.places : this.splatPlaces).array;
    const normal = (mesh ? this.normals : this.splatNormals).array;
    const corner = at.map((c, axis) => origin[axis] + spacing * (c * blockWidth - 1));
    const step = spacing / units;
    for (let number = 0; number < count; number++) {
      const to = start + number;
      for (let axis = 0; axis < 3; axis++) position[3 * to + axis] = corner[axis] + step * places[3 * number + axis];
      unfold(normals[2 * number], normals[2 * number + 1], normal, 4 * to);
    }
    if (!mesh) this.splatRadii.array.fill(radius, start, start + count);
    for (const column of mesh ? [this.places, this.normals] : [this.splatPlaces, this.splatNormals, this.splatRadii]) column.changed(start, count);
  }

  private drop(name: string): void {
    const block = this.held.get(name);
    if (!block) return;
    this.held.delete(name);
    const [start, count] = block.vertices;
    if (block.form === TRIANGLES) {
      const [first, corners] = block.corners;
      // Triangles without area are not drawn.
      this.corners.array.fill(0, first, first + corners);
      this.corners.changed(first, corners);
      this.cornerRanges.give(first, corners);
      this.vertexRanges.give(start, count);
    } else {
      this.splatRadii.array.fill(0, start, start + count);
      this.splatRadii.changed(start, count);
      this.pointRanges.give(start, count);
    }
  }

  private setDrawn(): void {
    this.triangles.setDrawRange(0, this.cornerRanges.end);
    this.points.setDrawRange(0, this.pointRanges.end);
  }

  /** Called when the buffers have been drawn from. */
  sent(): void {
    for (const column of [this.corners, this.places, this.normals, this.splatPlaces, this.splatNormals, this.splatRadii]) column.sent();
  }

  /** Whether a ray comes near a block that is shown. */
  isNear(ray: THREE.Ray): boolean {
    const reach = 0.75 * this.layout.blockWidth * this.layout.spacing;
    for (const block of this.held.values()) if (ray.distanceSqToPoint(block.center) < reach * reach) return true;
    return false;
  }
}

function key(x: number, y: number, z: number): string {
  return `${x},${y},${z}`;
}

/** A direction from two bytes, the unfolded octahedron, as three signed bytes. */
function unfold(u: number, v: number, into: Int8Array, at: number): void {
  let x = u / 127.5 - 1;
  let y = v / 127.5 - 1;
  const z = 1 - Math.abs(x) - Math.abs(y);
  if (z < 0) [x, y] = [(1 - Math.abs(y)) * Math.sign(x || 1), (1 - Math.abs(x)) * Math.sign(y || 1)];
  const scale = 127 / Math.hypot(x, y, z);
  into[at] = Math.round(scale * x);
  into[at + 1] = Math.round(scale * y);
  into[at + 2] = Math.round(scale * z);
}
