"""Exports of `unsnarl sim`, read back by usd-core and pygltflib and compared with the cache itself.

    python tests/python/check_exports.py --unsnarl target/release/unsnarl
"""

import argparse
import json
import pathlib
import struct
import subprocess
import tempfile
import zlib

import numpy as np
import pygltflib
from pxr import Usd, UsdGeom

SCENE = """
[scene]
frames = 5
[[cloth]]
name = "sheet"
sheet = { size = [0.5, 0.5], cells = [8, 8] }
pin = [{ vertices = [0] }]
[[cloth]]
name = "disc"
disc = { radius = 0.2, rings = 4 }
position = [1, 0, 0]
"""


def read_cache_file(path):
    """A cache file by docs/cache.md: arrays by name."""
    data = path.read_bytes()
    magic, version, count, table_sum, _ = struct.unpack_from("<8sIIII", data, 0)
    assert magic == b"UNSNARL\0" and version == 1
    assert zlib.crc32(data[24 : 24 + 48 * count]) == table_sum
    arrays = {}
    for index in range(count):
        name, kind, width, start, length, check, _ = struct.unpack_from("<16sIIQQII", data, 24 + 48 * index)
        section = data[start : start + length]
        assert zlib.crc32(section) == check
        dtype = {1: "<f8", 2: "<u4"}[kind]
        arrays[name.rstrip(b"\0").decode()] = np.frombuffer(section, dtype).reshape(-1, width)
    return arrays


def accessor(document, blob, index):
    entry = document.accessors[index]
    view = document.bufferViews[entry.bufferView]
    dtype = {5126: np.float32, 5125: np.uint32}[entry.componentType]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}[entry.type]
    offset = (view.byteOffset or 0) + (entry.byteOffset or 0)
    return np.frombuffer(blob, dtype, entry.count * width, offset).reshape(-1, width)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unsnarl", default="target/release/unsnarl")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "scene.toml").write_text(SCENE)
        run = lambda *words: subprocess.run([arguments.unsnarl, "-q", *map(str, words)], check=True)
        run("sim", folder / "scene.toml", "-o", folder / "cache")
        for file in ["out.usda", "out.glb", "out.pc2"]:
            run("export", folder / "cache", "-o", folder / file)
        info = json.loads((folder / "cache/cache.json").read_text())
        frames = [read_cache_file(folder / f"cache/frame_{n:06}.unsnarl")["positions"] for n in range(6)]
        triangles = read_cache_file(folder / "cache/mesh.unsnarl")["triangles"]

        stage = Usd.Stage.Open(str(folder / "out.usda"))
        assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
        assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 5.0)
        meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
        assert len(meshes) == 2
        for mesh, piece in zip(meshes, info["pieces"]):
            first, count = piece["vertices"]
            assert mesh.GetPointsAttr().GetTimeSamples() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
            for frame, points in enumerate(frames):
                got = np.array(mesh.GetPointsAttr().Get(frame))
                assert np.array_equal(got, points[first : first + count].astype(np.float32))
            start, number = piece["triangles"]
            faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
            assert np.array_equal(faces, triangles[start : start + number] - first)
            st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
            assert len(st.ComputeFlattened()) == 3 * number
        print("usd-core: points of every frame, faces and uv agree")

        document = pygltflib.GLTF2().load(str(folder / "out.glb"))
        blob = document.binary_blob()
        for node, piece in zip(document.nodes, info["pieces"]):
            primitive = document.meshes[node.mesh].primitives[0]
            base = accessor(document, blob, primitive.attributes.POSITION)
            first, count = piece["vertices"]
            start, number = piece["triangles"]
            corners = accessor(document, blob, primitive.indices).ravel()
            world = triangles[start : start + number].ravel()
            assert np.array_equal(base[corners], frames[0][world].astype(np.float32))
            assert len(primitive.targets) == 5
            for frame, target in enumerate(primitive.targets, 1):
                offset = accessor(document, blob, target["POSITION"] if isinstance(target, dict) else target.POSITION)
                assert np.allclose((base + offset)[corners], frames[frame][world], atol=2e-7)
        animation = document.animations[0]
        times = accessor(document, blob, animation.samplers[0].input).ravel()
        assert np.allclose(times, np.arange(6) / 24.0)
        weights = accessor(document, blob, animation.samplers[0].output).reshape(6, 5)
        assert np.array_equal(weights, np.eye(6, 5, -1, dtype=np.float32))
        print("pygltflib: base, targets and weights agree")

        data = (folder / "out.pc2").read_bytes()
        assert struct.unpack_from("<12sIIffI", data, 0) == (b"POINTCACHE2\0", 1, info["vertices"], 0.0, 1.0, 6)
        got = np.frombuffer(data, "<f4", offset=32).reshape(6, -1, 3)
        assert np.array_equal(got, np.array(frames, np.float32))
        print("PC2: header and all points agree")


if __name__ == "__main__":
    main()
