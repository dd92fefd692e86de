// Closed meshes for tests of the sculpting page.

import { writeFileSync } from "node:fs";

/** Writes a ball of radius 0.1 as OBJ. */
export function ball(path, rings) {
  const lines = [];
  const around = 2 * rings;
  for (let i = 0; i <= rings; i++) {
    const polar = (Math.PI * i) / rings;
    for (let j = 0; j < around; j++) {
      const angle = (2 * Math.PI * j) / around;
      lines.push(`v ${0.1 * Math.sin(polar) * Math.cos(angle)} ${0.1 * Math.cos(polar)} ${0.1 * Math.sin(polar) * Math.sin(angle)}`);
    }
  }
  const at = (i, j) => 1 + i * around + (j % around);
  for (let i = 0; i < rings; i++) {
    for (let j = 0; j < around; j++) lines.push(`f ${at(i, j)} ${at(i, j + 1)} ${at(i + 1, j + 1)} ${at(i + 1, j)}`);
  }
  writeFileSync(path, `${lines.join("\n")}\n`);
}
