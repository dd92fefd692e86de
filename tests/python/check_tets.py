"""Tetrahedral files between us and meshio, and an independent check of the meshes that `unsnarl tet` makes.

1. A lattice of tetrahedra written by meshio in every format is measured by `unsnarl tet measure`: count, volume, angles.
2. Where `unsnarl tet` makes a mesh of a ball, meshio reads it back in every format; volumes, conditions (A), (B) and (C) of
   the thesis (5.4) and the orientation of the boundary are checked here with numpy, by another road than the program's.
gmsh is used as a third reader where it is installed; it is not required.
3. Bodies given by name, broken ones among them, are filled: the same checks, and `unsnarl check` finds their boundary clean.
Usage: check_tets.py --unsnarl PATH [--bodies MESH...] [--count N]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import combinations
from pathlib import Path

import meshio
import numpy as np

FAILURES = []
ASSETS = Path(__file__).resolve().parents[2] / "assets"


def expect(holds: bool, what: str) -> None:
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}")


def lattice(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A body-centred cubic lattice: four tetrahedra around every axis edge that has four centres around it."""
    corners = {c: i for i, c in enumerate((x, y, z) for x in range(0, 2 * n + 1, 2) for y in range(0, 2 * n + 1, 2) for z in range(0, 2 * n + 1, 2))}
    centres = {c: len(corners) + i for i, c in enumerate((x, y, z) for x in range(1, 2 * n, 2) for y in range(1, 2 * n, 2) for z in range(1, 2 * n, 2))}
    nodes = {**corners, **centres}
    points = np.array(list(nodes), float)
    tets = []
    for first in corners:
        for axis in range(3):
            second = tuple(first[k] + 2 * (k == axis) for k in range(3))
            if second not in nodes:
                continue
            u, v = [k for k in range(3) if k != axis]
            ring = []
            for du, dv in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
                at = list(first)
                at[axis] += 1
                at[u] += du
                at[v] += dv
                ring.append(nodes.get(tuple(at)))
            for a, b in zip(ring, ring[1:] + ring[:1]):
                if a is not None and b is not None:
                    tets.append([nodes[first], nodes[second], a, b])
    tets = np.array(tets)
    wrong = volumes(points, tets) < 0
    tets[wrong] = tets[wrong][:, [1, 0, 2, 3]]
    return points, tets


def volumes(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    a, b, c, d = (points[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6


def run(program: Path, folder: str, *arguments: str) -> dict:
    done = subprocess.run([program, *arguments, "--json", "-"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        expect(False, f"{' '.join(arguments)}: {done.stderr.strip()}")
        return {}
    return json.loads(done.stdout)


def check_reading(program: Path, folder: str) -> None:
    points, tets = lattice(4)
    mesh = meshio.Mesh(points, [("tetra", tets)])
    for name, kind, options in (
        ("a22t.msh", "gmsh22", {"binary": False}),
        ("a22b.msh", "gmsh22", {"binary": True}),
        ("a41t.msh", "gmsh", {"binary": False}),
        ("a41b.msh", "gmsh", {"binary": True}),
        ("a51b.vtk", "vtk", {"binary": True}),
        ("a51t.vtk", "vtk", {"binary": False}),
        ("a42b.vtk", "vtk42", {"binary": True}),
        ("a.mesh", "medit", {}),
        ("a.node", "tetgen", {}),
    ):
        meshio.write(str(Path(folder) / name), mesh, file_format=kind, **options)
        found = run(program, folder, "tet", "measure", name)
        if not found:
            continue
        expect(found["tets"] == len(tets) and found["nodes"] == len(np.unique(tets)), f"{name}: counts {found['tets']}, {found['nodes']}")
        expect(found["valid"] and found["inverted"] == 0, f"{name}: a positive lattice is not valid")
        expect(abs(found["volume"] - volumes(points, tets).sum()) < 1e-9, f"{name}: volume {found['volume']}")
        expect(np.allclose(found["dihedral_degrees"], [60, 90]), f"{name}: angles {found['dihedral_degrees']}")
        expect(abs(found["aspect"]["max"] - np.sqrt(2)) < 1e-12, f"{name}: aspect {found['aspect']}")
    print(f"files of meshio measured: {len(tets)} tetrahedra of the lattice")


def outside(tets: np.ndarray) -> np.ndarray:
    """The faces of one tetrahedron only, outward."""
    faces = np.concatenate([tets[:, [1, 2, 3]], tets[:, [0, 3, 2]], tets[:, [0, 1, 3]], tets[:, [0, 2, 1]]])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    expect(count.max() <= 2, "a face has three tetrahedra")
    return faces[first[count == 1]]


def check_conditions(tets: np.ndarray, surface: np.ndarray, name: str) -> None:
    directed = Counter((int(t[i]), int(t[(i + 1) % 3])) for t in surface for i in range(3))
    expect(all(directed[b, a] == 1 and n == 1 for (a, b), n in directed.items()), f"{name}: (A) an edge of the boundary")
    links: dict[int, dict[int, int]] = {}
    for t in surface:
        for i in range(3):
            links.setdefault(int(t[i]), {})[int(t[(i + 1) % 3])] = int(t[(i + 2) % 3])
    for node, link in links.items():
        start = at = next(iter(link))
        steps = 0
        while steps == 0 or (at != start and steps <= len(link)):
            at, steps = link.get(at, start), steps + 1
        expect(steps == len(link), f"{name}: (A) node {node} is pinched")
    on = np.zeros(tets.max() + 1, bool)
    on[surface] = True
    expect(not on[tets].all(axis=1).any(), f"{name}: (B) a tetrahedron has four boundary nodes")
    edges = np.unique(np.sort(np.concatenate([tets[:, list(pair)] for pair in combinations(range(4), 2)]), axis=1), axis=0)
    skin = {tuple(edge) for edge in np.unique(np.sort(np.concatenate([surface[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1), axis=0)}
    chords = sum(tuple(edge) not in skin for edge in edges[on[edges].all(axis=1)])
    expect(chords == 0, f"{name}: (C) {chords} inner edges join boundary nodes")


def ball_text(rings: int = 24) -> str:
    polar = np.pi * np.arange(1, rings) / rings
    angle = np.pi * np.arange(2 * rings) / rings
    ring = [(np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), -np.cos(p)) for p in polar for a in angle]
    points = [(0, 0, -1), *ring, (0, 0, 1)]
    around, top = 2 * rings, len(points) - 1
    faces = []
    for j in range(around):
        k = (j + 1) % around
        faces += [(0, 1 + k, 1 + j), (top, top - around + j, top - around + k)]
        for i in range(rings - 2):
            low, high = 1 + i * around, 1 + (i + 1) * around
            faces += [(low + j, low + k, high + k), (low + j, high + k, high + j)]
    return "".join(f"v {x} {y} {z}\n" for x, y, z in points) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)


def check_writing(program: Path, folder: str) -> None:
    if "--edge" not in subprocess.run([program, "tet", "--help"], capture_output=True, text=True, check=False).stdout:
        print("skipped: this program makes no tetrahedra")
        return
    (Path(folder) / "ball.obj").write_text(ball_text())
    for name in ("ball.msh", "ball.vtk", "ball.node", "ball.mesh"):
        report = run(program, folder, "tet", "ball.obj", "-o", name, "--edge", "0.25")
        if not report:
            continue
        mesh = meshio.read(str(Path(folder) / name))
        tets = np.concatenate([block.data for block in mesh.cells if block.type == "tetra"])
        volume = volumes(mesh.points, tets)
        expect(len(tets) > 100 and (volume > 0).all(), f"{name}: {len(tets)} tetrahedra, least volume {volume.min()}")
        expect(abs(volume.sum() / (4 / 3 * np.pi) - 1) < 0.05, f"{name}: volume {volume.sum()}")
        surface = outside(tets)
        check_conditions(tets, surface, name)
        triangles = [block.data for block in mesh.cells if block.type == "triangle"]
        if triangles:
            written = {tuple(np.roll(t, -int(np.argmin(t)))) for t in np.concatenate(triangles)}
            expected = {tuple(np.roll(t, -int(np.argmin(t)))) for t in surface}
            expect(written == expected, f"{name}: boundary triangles differ from the faces of one tetrahedron")
        measured = run(program, folder, "tet", "measure", name)
        expect(bool(measured) and measured["tets"] == len(tets) and measured["valid"], f"{name}: measured otherwise")
        print(f"{name}: {len(tets)} tetrahedra read by meshio, conditions hold")
    try:
        import gmsh
    except (ImportError, OSError):
        return
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.open(str(Path(folder) / "ball.msh"))
    expect(len(gmsh.model.mesh.getElementsByType(4)[0]) > 100, "ball.msh: gmsh finds no tetrahedra")
    gmsh.finalize()


def check_body(program: Path, folder: str, body: Path, count: int) -> None:
    name = body.stem
    report = run(program, folder, "tet", str(body), "-o", "body.msh", "--count", str(count), "--surface", "skin.obj")
    if not report:
        return
    mesh = meshio.read(str(Path(folder) / "body.msh"))
    tets = np.concatenate([block.data for block in mesh.cells if block.type == "tetra"])
    expect((volumes(mesh.points, tets) > 0).all(), f"{name}: a tetrahedron is not positive")
    check_conditions(tets, outside(tets), name)
    clean = run(program, folder, "check", "skin.obj")
    expect(bool(clean) and clean["clean"], f"{name}: the boundary meets itself")
    print(f"{name}: {len(tets)} tetrahedra, from {report['source']}, conditions hold, boundary clean")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unsnarl", required=True, type=Path)
    parser.add_argument("--bodies", nargs="*", type=Path, default=[ASSETS / "cgal_cc0/spheres_intersecting.off", ASSETS / "character_cc0/body_sit01.ply"])
    parser.add_argument("--count", type=int, default=8000)
    flags = parser.parse_args()
    program = flags.unsnarl.resolve()
    with tempfile.TemporaryDirectory() as folder:
        check_reading(program, folder)
        check_writing(program, folder)
        for body in flags.bodies:
            check_body(program, folder, body.resolve(), flags.count)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
