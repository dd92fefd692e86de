#!/usr/bin/env python3
"""Mesh files written by Unsnarl, opened by independent readers, and files of independent writers, read by Unsnarl.

Usage: check_round_trips.py [CONVERT]

CONVERT is the built example `convert` of unsnarl-io (built if not given). Needs the packages of requirements.txt. Prints every check that fails
and the counts; exit status 1 when one fails.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import trimesh
from plyfile import PlyData
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

PROJECT = pathlib.Path(__file__).resolve().parents[2]
STRETCH = 1.25
passed, failed = 0, 0


def check(name, holds):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}")


def convert(tool, source, target, stretch=False):
    words = [tool, source, target] + (["--stretch", str(STRETCH)] if stretch else [])
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def read_obj(path):
    """Positions and faces of an OBJ file, by the plainest means."""
    positions, faces = [], []
    for line in path.read_text(errors="replace").replace("\\\n", " ").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            positions.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            indices = [int(word.split("/")[0]) for word in words[1:]]
            faces.append([index - 1 if index > 0 else len(positions) + index for index in indices])
    return np.array(positions), faces


def read_ply(path):
    data = PlyData.read(str(path))
    vertex = data["vertex"]
    return np.stack([vertex["x"], vertex["y"], vertex["z"]], axis=1), [list(map(int, face)) for face in data["face"]["vertex_indices"]]


def fan(faces):
    return [[face[0], face[at], face[at + 1]] for face in faces for at in range(1, len(face) - 1)]


def turned(triangle):
    """A triangle from its smallest index on, so that rotations compare equal."""
    at = triangle.index(min(triangle))
    return tuple(triangle[at:] + triangle[:at])


def same_faces(one, other):
    return sorted(turned(list(map(int, face))) for face in one) == sorted(turned(list(map(int, face))) for face in other)


def soup(positions, triangles):
    return np.asarray(positions)[np.asarray(triangles)]


def same_soup(one, other, tolerance):
    return one.shape == other.shape and np.abs(one - other).max() <= tolerance


def triangles_of_faces(order, positions, faces, tolerance):
    """Whether triangles follow the faces: n - 2 for each, every corner one of the face's."""
    of_face = np.repeat(np.arange(len(faces)), [len(face) - 2 for face in faces])
    if len(order) != len(of_face):
        return False
    if all(len(face) == 3 for face in faces):
        return same_soup(order, soup(positions, faces), tolerance)
    return all(
        np.abs(positions[faces[face]] - corner).max(axis=1).min() <= tolerance
        for triangle, face in zip(order, of_face)
        for corner in triangle
    )


def load(path):
    return trimesh.load(path, process=False, force="mesh", maintain_order=True)


def single(values):
    return np.asarray(values, dtype=np.float32).astype(np.float64)


def read_usd(path):
    stage = Usd.Stage.Open(str(path))
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    return stage, meshes


def usd_faces(mesh):
    indices, faces, start = list(mesh.GetFaceVertexIndicesAttr().Get()), [], 0
    for count in mesh.GetFaceVertexCountsAttr().Get():
        faces.append(indices[start:start + count])
        start += count
    return faces


def written_by_unsnarl(tool, source, folder):
    """One OBJ file through every kind, unchanged and stretched."""
    positions, faces = read_obj(source)
    triangles = fan(faces)
    for stretch in [False, True]:
        factor = STRETCH if stretch else 1.0
        expected = positions * factor
        title = f"{source.name}{' stretched' if stretch else ''}"
        for kind in ["obj", "ply", "off", "stl", "glb", "gltf", "usda"]:
            # A name of its own each time: USD's library remembers files that it has opened.
            target = folder / f"{source.stem}_{stretch}.{kind}"
            outcome = convert(tool, source, target, stretch)
            check(f"{title} to {kind}: {outcome.stderr.strip()}", outcome.returncode == 0)
            if kind == "obj":
                again, own_faces = read_obj(target)
                check(f"{title} to obj: positions, bit for bit", np.array_equal(again, expected))
                check(f"{title} to obj: faces", own_faces == faces)
                if not stretch:
                    check(f"{title} to obj: bytes", target.read_bytes() == source.read_bytes())
            elif kind == "off":
                mesh = load(target)
                check(f"{title} to off: positions, bit for bit", np.array_equal(mesh.vertices, expected))
                check(f"{title} to off: faces", same_faces(mesh.faces.tolist(), triangles))
            elif kind == "ply":
                again, own_faces = read_ply(target)
                check(f"{title} to ply: positions, bit for bit", np.array_equal(again, expected))
                check(f"{title} to ply: faces", own_faces == faces)
                if all(len(face) == 3 for face in faces):
                    # trimesh gives vertices on seams once for every uv vertex, so corners are compared.
                    mesh = load(target)
                    order = soup(mesh.vertices, mesh.faces)
                    check(f"{title} to ply: triangles, bit for bit", same_soup(order, soup(expected, faces), 0.0))
            elif kind == "usda":
                stage, [mesh] = read_usd(target)
                points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64)
                check(f"{title} to usda: points", np.array_equal(points, single(expected)))
                check(f"{title} to usda: faces", usd_faces(mesh) == faces)
                check(f"{title} to usda: unit", UsdGeom.GetStageMetersPerUnit(stage) == 1.0)
                check(f"{title} to usda: up axis", UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y)
                extent = np.array(mesh.GetExtentAttr().Get(), dtype=np.float64)
                check(f"{title} to usda: extent", np.array_equal(extent, [points.min(axis=0), points.max(axis=0)]))
            else:
                mesh = load(target)
                order = soup(mesh.vertices, mesh.faces)
                tolerance = 1e-7 * np.abs(expected).max()
                check(f"{title} to {kind}: triangles", triangles_of_faces(order, single(expected), faces, tolerance))


def written_by_others(tool, folder):
    """Files of trimesh and of USD's own library, through Unsnarl to OBJ and back to their kind."""
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.3)
    for kind, options in [("ply", {}), ("ply", {"encoding": "ascii"}), ("stl", {}), ("stl_ascii", {}), ("off", {}), ("glb", {}), ("obj", {})]:
        extension = kind.removesuffix("_ascii")
        source, target = folder / f"ball.{extension}", folder / "ball_out.obj"
        data = ball.export(file_type=kind, **options)
        source.write_bytes(data if isinstance(data, bytes) else data.encode())
        outcome = convert(tool, source, target)
        check(f"trimesh {kind} to obj: {outcome.stderr.strip()}", outcome.returncode == 0)
        positions, faces = read_obj(target)
        check(f"trimesh {kind}: vertex count", len(positions) == len(ball.vertices))
        truth = load(source)
        check(f"trimesh {kind}: triangles", same_soup(soup(positions, fan(faces)), soup(truth.vertices, truth.faces), 0.0))
        again = folder / f"again.{extension}"
        outcome = convert(tool, source, again, stretch=True)
        check(f"trimesh {kind} stretched: {outcome.stderr.strip()}", outcome.returncode == 0)
        moved = load(again)
        check(f"trimesh {kind} stretched: triangles", same_soup(soup(moved.vertices, moved.faces), soup(truth.vertices * STRETCH, truth.faces), 1e-7))

    scene = trimesh.Scene()
    transform = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3]) @ np.diag([0.5, 2.0, 1.0, 1.0])
    transform[:3, 3] = [1, -2, 3]
    scene.add_geometry(ball, node_name="ball", transform=transform)
    source, target = folder / "scene.glb", folder / "scene_out.glb"
    source.write_bytes(scene.export(file_type="glb"))
    outcome = convert(tool, source, target, stretch=True)
    check(f"glb under a transform: {outcome.stderr.strip()}", outcome.returncode == 0)
    truth, moved = load(source), load(target)
    check("glb under a transform: triangles", same_soup(soup(moved.vertices, moved.faces), soup(truth.vertices * STRETCH, truth.faces), 1e-5))
    check("glb under a transform: the transform stays", "matrix" in target.read_bytes().decode(errors="replace"))


def usd_of_its_library(tool, folder):
    source = folder / "layer.usda"
    stage = Usd.Stage.CreateNew(str(source))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    parent = UsdGeom.Xform.Define(stage, "/World")
    parent.AddTranslateOp().Set(Gf.Vec3d(10, 20, 30))
    parent.AddRotateXYZOp().Set(Gf.Vec3f(30, 40, 50))
    parent.AddScaleOp().Set(Gf.Vec3f(2, 3, 4))
    mesh = UsdGeom.Mesh.Define(stage, "/World/Shirt")
    mesh.AddRotateZYXOp().Set(Gf.Vec3f(10, 20, 30))
    mesh.AddOrientOp().Set(Gf.Quatf(0.5, 0.5, -0.5, 0.5))
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.5], [0, 1, 0], [2, 0.1, 7]], dtype=np.float32)
    mesh.GetPointsAttr().Set(Vt.Vec3fArray([Gf.Vec3f(*map(float, point)) for point in points]))
    mesh.GetFaceVertexCountsAttr().Set([4, 3])
    mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3, 1, 4, 2])
    mesh.CreateExtentAttr().Set(Vt.Vec3fArray([Gf.Vec3f(*map(float, corner)) for corner in [points.min(axis=0), points.max(axis=0)]]))
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying)
    primvar.Set([(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0), (0.75, 0.5), (1, 0.25)])
    stage.GetRootLayer().Save()

    matrix = np.array(mesh.ComputeLocalToWorldTransform(Usd.TimeCode.Default()))
    world = (np.c_[points.astype(np.float64), np.ones(len(points))] @ matrix)[:, :3]
    metres = 0.01 * np.stack([world[:, 0], world[:, 2], -world[:, 1]], axis=1)
    obj = folder / "layer.ply"
    outcome = convert(tool, source, obj)
    check(f"usda of its library: {outcome.stderr.strip()}", outcome.returncode == 0)
    # A file of another kind is in the unit and axis of the input.
    positions, _ = read_ply(obj)
    check("usda of its library: points in the world", np.abs(positions - world).max() < 1e-5)
    glb = folder / "layer.glb"
    convert(tool, source, glb)
    check("usda of its library: glTF is metres with Y up", np.abs(np.sort(load(glb).vertices, axis=0)[0] - np.sort(metres, axis=0)[0]).max() < 1e-6)
    again = folder / "layer_out.usda"
    outcome = convert(tool, source, again, stretch=True)
    _, [moved] = read_usd(again)
    local = np.array(moved.GetPointsAttr().Get(), dtype=np.float64)
    back = (np.c_[local, np.ones(len(local))] @ np.array(moved.ComputeLocalToWorldTransform(Usd.TimeCode.Default())))[:, :3]
    check("usda of its library, stretched: points", np.abs(back - world * STRETCH).max() < 1e-4)
    extent = np.array(moved.GetExtentAttr().Get(), dtype=np.float64)
    check("usda of its library, stretched: extent", np.array_equal(extent, [local.min(axis=0), local.max(axis=0)]))
    st = UsdGeom.PrimvarsAPI(moved).GetPrimvar("st")
    check("usda of its library, stretched: uv stays", len(st.Get()) == 7 and st.GetInterpolation() == UsdGeom.Tokens.faceVarying)

    binary = folder / "layer.usdc"
    Usd.Stage.Open(str(source)).Export(str(binary))
    outcome = convert(tool, binary, folder / "x.obj")
    text = (folder / "x.obj").read_text() if outcome.returncode == 0 else ""
    points = np.array([line.split()[1:4] for line in text.splitlines() if line.startswith("v ")], dtype=np.float64)
    check("usdc of its library: points", points.shape == world.shape and np.abs(points - world).max() < 1e-4)


def built_convert():
    words = ["cargo", "build", "--quiet", "--locked", "-p", "unsnarl-io", "--example", "convert", "--message-format", "json"]
    output = subprocess.run(words, cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    [path] = [message["executable"] for message in messages if message.get("executable")]
    return path


def main():
    tool = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else built_convert()).resolve()
    data = PROJECT / "assets"
    real = ["diffcloth_mit/tshirt1900.obj", "diffcloth_mit/dress-v5k-f10k.obj", "makehuman_cc0/body/female1605.obj"]
    sources = [PROJECT / "crates/unsnarl-io/tests/corpus/strip.obj"]
    sources += [data / path for path in real]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for source in sources:
            written_by_unsnarl(tool, source, folder)
        written_by_others(tool, folder)
        usd_of_its_library(tool, folder)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
