// A triangle surface as it is drawn: two-sided, lit at its vertices, with its wireframe in the same pass.
//
// Every triangle has corners of its own, so that a pixel knows how far it is from each edge. Light is worked out at the
// vertices and colours are mixed as they are shown, which leaves little to do for a pixel: software renderers draw this too.

import * as THREE from "three";

const VERTEX_SHADER = `
attribute vec4 mark;
uniform vec4 section;
varying vec4 vShade;
varying vec2 vCorner;
float light(vec3 normal) {
  float key = max(dot(normal, vec3(0.342, 0.586, 0.733)), 0.0);
  return pow(0.53 + 0.11 * normal.y + 0.46 * key, 1.0 / 2.2);
}
void main() {
  vec3 towards = normalize(normalMatrix * normal);
  vec4 world = modelMatrix * vec4(position, 1.0);
  vShade = vec4(light(towards), light(-towards), clamp(2.0 * mark.z - 0.5, 0.0, 1.0), dot(section.xyz, world.xyz) - section.w);
  vCorner = mark.xy;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;

const FRAGMENT_SHADER = `
uniform vec3 front;
uniform vec3 frontRed;
uniform vec3 back;
uniform vec3 backRed;
uniform float opacity;
uniform vec3 wire;
uniform float wireWidth;
varying vec4 vShade;
varying vec2 vCorner;
void main() {
  #ifdef SECTION
  if (vShade.w > 0.0) discard;
  #endif
  vec3 shown = gl_FrontFacing ? mix(front, frontRed, vShade.z) * vShade.x : mix(back, backRed, vShade.z) * vShade.y;
  #ifdef WIRE
  vec3 corner = vec3(vCorner, 1.0 - vCorner.x - vCorner.y);
  vec3 pixels = corner / fwidth(corner);
  float line = clamp(wireWidth - min(min(pixels.x, pixels.y), pixels.z), 0.0, 1.0);
  shown = mix(shown, wire, 0.34 * line);
  #endif
  gl_FragColor = vec4(shown, opacity);
}`;

export interface SurfaceColours {
  front: string;
  back: string;
  red: string;
  green: string;
  wire: string;
}

export interface SurfaceLook {
  wireframe: boolean;
  /** Whether red and green show. */
  colours: boolean;
  opacity: number;
  /** What lies beyond this plane is cut away. */
  section: THREE.Vector4 | null;
}

export class Surface {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private colours: SurfaceColours | null = null;
  private look: SurfaceLook = { wireframe: false, colours: true, opacity: 1, section: null };
  private readonly normals: Float32Array;

  /** `triangles` has three vertices for each triangle. */
  constructor(private readonly triangles: Uint32Array, vertexCount: number) {
    this.normals = new Float32Array(3 * vertexCount);
    const geometry = new THREE.BufferGeometry();
    const corners = triangles.length;
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * corners), 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(new Int16Array(4 * corners), 4, true));
    const marks = new Uint8Array(4 * corners);
    for (let corner = 0; corner < corners; corner++) if (corner % 3 < 2) marks[4 * corner + (corner % 3)] = 255;
    geometry.setAttribute("mark", new THREE.BufferAttribute(marks, 4, true));
    for (const name of ["position", "normal", "mark"]) (geometry.getAttribute(name) as THREE.BufferAttribute).setUsage(THREE.DynamicDrawUsage);
    this.mesh = new THREE.Mesh(geometry, material());
    this.mesh.frustumCulled = false;
    this.mesh.onBeforeRender = (renderer) => void (this.mesh.material.uniforms.wireWidth.value = 0.25 + 0.5 * renderer.getPixelRatio());
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }

  /** The vertex at a corner of a triangle. */
  vertexOf(corner: number): number {
    return this.triangles[corner];
  }

  place(positions: Float32Array): void {
    const { triangles, normals } = this;
    vertexNormals(positions, triangles, normals);
    const [position, normal] = ["position", "normal"].map((name) => this.mesh.geometry.getAttribute(name) as THREE.BufferAttribute);
    const [points, directions] = [position.array, normal.array];
    for (let corner = 0; corner < triangles.length; corner++) {
      const from = 3 * triangles[corner];
      points[3 * corner] = positions[from];
      points[3 * corner + 1] = positions[from + 1];
      points[3 * corner + 2] = positions[from + 2];
      directions[4 * corner] = normals[from];
      directions[4 * corner + 1] = normals[from + 1];
      directions[4 * corner + 2] = normals[from + 2];
    }
    position.needsUpdate = true;
    normal.needsUpdate = true;
    this.mesh.geometry.boundingSphere = null;
    this.mesh.geometry.boundingBox = null;
  }

  /** `red` has 1 for each vertex that is red. */
  mark(red: Uint8Array): void {
    const mark = this.mesh.geometry.getAttribute("mark") as THREE.BufferAttribute;
    for (let corner = 0; corner < this.triangles.length; corner++) mark.array[4 * corner + 2] = red[this.triangles[corner]] > 0 ? 255 : 0;
    mark.needsUpdate = true;
  }

  paint(colours: SurfaceColours): void {
    this.colours = colours;
    this.update();
  }

  setLook(look: SurfaceLook): void {
    this.look = look;
    this.update();
  }

  private update(): void {
    const { look, colours } = this;
    const { material } = this.mesh;
    material.transparent = look.opacity < 1;
    material.depthWrite = look.opacity === 1;
    material.uniforms.opacity.value = look.opacity;
    material.uniforms.section.value = look.section ?? new THREE.Vector4();
    material.defines = { ...(look.section ? { SECTION: 1 } : {}), ...(look.wireframe ? { WIRE: 1 } : {}) };
    material.needsUpdate = true;
    if (!colours) return;
    const [red, green] = [new THREE.Color(colours.red), new THREE.Color(colours.green)];
    const tint = look.colours ? 1 : 0;
    for (const side of ["front", "back"] as const) {
      material.uniforms[side].value = new THREE.Color(colours[side]).lerp(green, 0.35 * tint);
      material.uniforms[`${side}Red`].value = new THREE.Color(colours[side]).lerp(red, 0.85 * tint);
    }
    material.uniforms.wire.value = new THREE.Color(colours.wire);
  }
}

function material(): THREE.ShaderMaterial {
  const names = ["front", "frontRed", "back", "backRed", "wire", "wireWidth", "opacity", "section"];
  return new THREE.ShaderMaterial({
    vertexShader: VERTEX_SHADER,
    fragmentShader: FRAGMENT_SHADER,
    side: THREE.DoubleSide,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
    uniforms: Object.fromEntries(names.map((name) => [name, { value: null }])),
  });
}

/** Area-weighted normals of the vertices, of length 32767 as 16-bit attributes want them. */
function vertexNormals(positions: Float32Array, triangles: Uint32Array, normals: Float32Array): void {
  normals.fill(0);
  for (let at = 0; at < triangles.length; at += 3) {
    const [a, b, c] = [3 * triangles[at], 3 * triangles[at + 1], 3 * triangles[at + 2]];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const corner of [a, b, c]) {
      normals[corner] += x;
      normals[corner + 1] += y;
      normals[corner + 2] += z;
    }
  }
  for (let at = 0; at < normals.length; at += 3) {
    const scale = 32767 / Math.max(Math.hypot(normals[at], normals[at + 1], normals[at + 2]), 1e-30);
    for (let axis = 0; axis < 3; axis++) normals[at + axis] *= scale;
  }
}
