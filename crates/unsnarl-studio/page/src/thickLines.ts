// Thick lines: every segment is a quad that faces the eye, all of them in one call, in buffers that stay from frame to frame.
// Instanced lines cost software renderers a call per segment.

import * as THREE from "three";

const VERTEX_SHADER = `
attribute vec3 other;
attribute vec3 colour;
attribute float side;
uniform vec2 resolution;
uniform float width;
uniform float cap;
uniform float nearer;
varying vec3 vColour;
void main() {
  vColour = colour;
  vec4 here = projectionMatrix * (modelViewMatrix * vec4(position, 1.0) * vec4(vec3(nearer), 1.0));
  vec4 there = projectionMatrix * (modelViewMatrix * vec4(other, 1.0) * vec4(vec3(nearer), 1.0));
  vec2 along = (there.xy * here.w - here.xy * there.w) * resolution;
  along /= max(length(along), 1e-20);
  vec2 across = side * vec2(-along.y, along.x);
  here.xy += (across - cap * along) * width / resolution * here.w;
  gl_Position = here;
}`;

const FRAGMENT_SHADER = `
uniform float opacity;
varying vec3 vColour;
void main() {
  gl_FragColor = vec4(vColour, opacity);
}`;

/** Segments with a colour each. */
export class Segments extends THREE.BufferGeometry {
  private capacity = 0;

  constructor() {
    super();
    this.grow(64);
  }

  /** `points` has six numbers for each segment, `colours` three bytes. */
  set(points: ArrayLike<number>, colours: ArrayLike<number>): void {
    const count = points.length / 6;
    if (count > this.capacity) this.grow(2 * count);
    const [position, other, colour] = ["position", "other", "colour"].map((name) => this.getAttribute(name) as THREE.BufferAttribute);
    for (let segment = 0; segment < count; segment++) {
      for (let corner = 0; corner < 4; corner++) {
        const at = 4 * segment + corner;
        const own = 6 * segment + (corner < 2 ? 0 : 3);
        const far = 6 * segment + (corner < 2 ? 3 : 0);
        for (let axis = 0; axis < 3; axis++) {
          position.array[3 * at + axis] = points[own + axis];
          other.array[3 * at + axis] = points[far + axis];
          colour.array[4 * at + axis] = colours[3 * segment + axis];
        }
      }
    }
    for (const changed of [position, other, colour]) {
      changed.clearUpdateRanges();
      changed.addUpdateRange(0, 4 * count * changed.itemSize);
      changed.needsUpdate = true;
    }
    this.setDrawRange(0, 6 * count);
  }

  private grow(capacity: number): void {
    this.dispose();
    this.capacity = capacity;
    this.setAttribute("position", new THREE.BufferAttribute(new Float32Array(12 * capacity), 3));
    this.setAttribute("other", new THREE.BufferAttribute(new Float32Array(12 * capacity), 3));
    this.setAttribute("colour", new THREE.BufferAttribute(new Uint8Array(16 * capacity), 4, true));
    // Seen from the far end a quad's sides change places.
    const sides = Float32Array.from({ length: 4 * capacity }, (_, at) => [1, -1, -1, 1][at % 4]);
    this.setAttribute("side", new THREE.BufferAttribute(sides, 1));
    const corners = Uint32Array.from({ length: 6 * capacity }, (_, at) => 4 * Math.floor(at / 6) + [0, 1, 2, 2, 1, 3][at % 6]);
    this.setIndex(new THREE.BufferAttribute(corners, 1));
  }
}

export interface LineLook {
  /** Pixels. */
  width: number;
  opacity: number;
  depthTest: boolean;
  order: number;
  /** Which share of their distance from the eye lines keep: a little less than 1 lifts them off the surface. */
  nearer: number;
}

/** Draws segments. */
export function thickLine(segments: Segments, { width, opacity, depthTest, order, nearer }: LineLook): THREE.Mesh {
  const resolution = new THREE.Vector2();
  const material = new THREE.ShaderMaterial({
    vertexShader: VERTEX_SHADER,
    fragmentShader: FRAGMENT_SHADER,
    side: THREE.DoubleSide,
    transparent: true,
    depthTest,
    depthWrite: false,
    // Ends that overlap would show where lines are faint.
    uniforms: { resolution: { value: resolution }, width: { value: width }, cap: { value: opacity < 1 ? 0 : 0.5 }, opacity: { value: opacity }, nearer: { value: nearer } },
  });
  const line = new THREE.Mesh(segments, material);
  line.frustumCulled = false;
  line.renderOrder = order;
  line.onBeforeRender = (renderer) => void renderer.getSize(resolution);
  return line;
}

/** A colour as three bytes. */
export function bytes(colour: string): [number, number, number] {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
