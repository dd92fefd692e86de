// How blocks are drawn: one shader for triangles and one for splats, lit alike.

import * as THREE from "three";

const LIGHT = `
uniform vec3 colour;
uniform vec3 light;
uniform vec3 eye;
vec3 lit(vec3 normal, vec3 point) {
  vec3 n = normalize(normal);
  vec3 toward = normalize(eye - point);
  float facing = max(dot(n, light), 0.0);
  float head = max(dot(n, toward), 0.0);
  float rim = pow(1.0 - head, 3.0);
  return colour * (0.30 + 0.14 * n.y + 0.42 * facing + 0.28 * head) - 0.05 * rim;
}`;

export interface Paints {
  triangles: THREE.ShaderMaterial;
  points: THREE.ShaderMaterial;
  setColour(colour: string): void;
  setView(camera: THREE.PerspectiveCamera, pixels: number): void;
}

export function paints(): Paints {
  const uniforms = {
    colour: { value: new THREE.Color("#d9d4ca") },
    light: { value: new THREE.Vector3(0.45, 0.75, 0.5).normalize() },
    eye: { value: new THREE.Vector3() },
    /** Pixels of the canvas that a metre takes at a distance of one metre. */
    focal: { value: 1 },
  };
  const triangles = new THREE.ShaderMaterial({
    uniforms,
    vertexShader: `${LIGHT}
varying vec3 shade;
void main() {
  shade = lit(normal, position);
  gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
}`,
    fragmentShader: `varying vec3 shade; void main() { gl_FragColor = vec4(shade, 1.0); }`,
    side: THREE.DoubleSide,
  });
  const points = new THREE.ShaderMaterial({
    uniforms,
    vertexShader: `${LIGHT}
attribute float radius;
uniform float focal;
varying vec3 shade;
void main() {
  vec4 place = viewMatrix * vec4(position, 1.0);
  shade = lit(normal, position);
  bool hidden = radius <= 0.0 || dot(normal, eye - position) < -0.35 * length(eye - position);
  gl_Position = hidden ? vec4(2.0, 2.0, 2.0, 1.0) : projectionMatrix * place;
  gl_PointSize = clamp(1.9 * radius * focal / -place.z, 1.0, 64.0);
}`,
    fragmentShader: `varying vec3 shade; void main() { gl_FragColor = vec4(shade, 1.0); }`,
  });
  return {
    triangles,
    points,
    setColour: (colour) => uniforms.colour.value.set(colour),
    setView(camera, pixels) {
      uniforms.eye.value.copy(camera.position);
      uniforms.focal.value = (0.5 * pixels) / Math.tan(THREE.MathUtils.degToRad(camera.fov / 2));
    },
  };
}
