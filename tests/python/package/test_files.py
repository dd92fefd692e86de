"""USD of usd-core in, binary USD and Alembic out, the table of a batch, examples, the README, and the command in the wheel."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np
import support
from unsnarl import batch, export
from unsnarl._cache import Cache


def stage_with_two_meshes(path):
    """A garment under two transforms, 30 x 30 vertices, in centimetres with Z up, and a moving triangle."""
    from pxr import Gf, Sdf, Usd, UsdGeom, Vt

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    root = UsdGeom.Xform.Define(stage, "/World")
    root.AddTranslateOp().Set(Gf.Vec3d(3, -2, 1.5))
    root.AddRotateXYZOp().Set(Gf.Vec3f(10, 20, 30))
    V, F = support.sheet(30, lambda x, z: 0.01 * np.sin(20 * x))
    mesh = UsdGeom.Mesh.Define(stage, "/World/Shirt")
    mesh.AddScaleOp().Set(Gf.Vec3f(1.5, 2, 0.5))
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy((100 * V).astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(F), 3, np.int32)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(F.reshape(-1)))
    kind, how = Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex
    st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", kind, how)
    st.Set(Vt.Vec2fArray.FromNumpy(V[:, ::2].astype(np.float32)))
    stage.GetRootLayer().Save()
    return stage, mesh


def points_in_metres(stage, mesh):
    from pxr import UsdGeom

    world = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(mesh.GetPrim()))
    points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64)
    placed = 0.01 * (np.concatenate([points, np.ones((len(points), 1))], axis=1) @ world)[:, :3]
    return np.stack([placed[:, 0], placed[:, 2], -placed[:, 1]], axis=1)


class Files(unittest.TestCase):
    def test_binary_usd_of_usd_core_is_read_and_damage_is_refused(self):
        from pxr import Sdf

        with support.folder() as name:
            folder = pathlib.Path(name)
            stage, mesh = stage_with_two_meshes(folder / "shirt.usdc")
            with Sdf.ZipFileWriter.CreateNew(str(folder / "shirt.usdz")) as package:
                package.AddFile(str(folder / "shirt.usdc"), "shirt.usdc")
            stage.GetRootLayer().Export(str(folder / "shirt.usda"))
            stage.GetRootLayer().Export(str(folder / "binary.usd"))
            expected = points_in_metres(stage, mesh)
            for file in ["shirt.usdc", "shirt.usdz", "shirt.usda", "binary.usd"]:
                support.run("-q", "fix", folder / file, "-o", folder / "out.obj", status=0)
                V, _ = support.read_obj(folder / "out.obj")
                written = 0.01 * np.stack([V[:, 0], V[:, 2], -V[:, 1]], axis=1)
                np.testing.assert_allclose(written, expected, atol=1e-9, err_msg=file)
            whole = (folder / "shirt.usdc").read_bytes()
            random = np.random.default_rng(7)
            for _ in range(60):
                damaged = bytearray(whole[: int(random.integers(8, len(whole)))] if random.integers(2) else whole)
                for at in random.integers(8, len(damaged), size=8):
                    damaged[at] = int(random.integers(256))
                (folder / "bad.usdc").write_bytes(damaged)
                done = subprocess.run([support.COMMAND, "-q", "check", folder / "bad.usdc"], capture_output=True, text=True)
                self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                self.assertNotIn("panicked", done.stderr)
                if done.returncode == 2:
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_caches_go_out_as_binary_usd_and_alembic(self):
        import imath  # noqa: F401  (alembic3d needs it loaded)
        from alembic3d import Abc, AbcGeom
        from pxr import Usd, UsdGeom

        scene = "[scene]\nframes = 3\n[[cloth]]\nname = 'a b'\nsheet = { size = [0.5, 0.5], cells = [4, 4] }\n"
        with support.folder() as name:
            folder = pathlib.Path(name)
            (folder / "scene.toml").write_text(scene)
            support.run("-q", "sim", folder / "scene.toml", "-o", folder / "cache", status=0)
            done = support.run("export", folder / "cache", "-o", folder / "out.abc", status=2)
            self.assertIn("pip install 'unsnarl[abc]'", done.stderr)
            script = pathlib.Path(sys.executable).parent / "unsnarl"
            for file in ["out.usdc", "out.usdz", "out.abc"]:
                words = [script, "-q", "export", folder / "cache", "-o", folder / file]
                subprocess.run(words, check=True)
            cache = Cache(folder / "cache")
            for file in ["out.usdc", "out.usdz"]:
                stage = Usd.Stage.Open(str(folder / file))
                (mesh,) = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
                self.assertEqual(mesh.GetPointsAttr().GetTimeSamples(), [0.0, 1.0, 2.0, 3.0])
                for frame in range(4):
                    points = np.array(mesh.GetPointsAttr().Get(frame))
                    np.testing.assert_array_equal(points, cache.positions(frame).astype(np.float32))
                corners = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
                np.testing.assert_array_equal(corners, cache.mesh["triangles"])
            support.run("-q", "check", folder / "out.usdc", status=0)
            archive = Abc.IArchive(str(folder / "out.abc"))
            schema = AbcGeom.IPolyMesh(archive.getTop(), "piece0_a_b").getSchema()
            self.assertEqual(schema.getNumSamples(), 4)
            rate = cache.info["frame_rate"]
            for frame in range(4):
                moment = schema.getTimeSampling().getSampleTime(frame)
                self.assertTrue(math.isclose(moment, frame / rate))
                value = schema.getValue(Abc.ISampleSelector(moment))
                points = np.array([[own.x, own.y, own.z] for own in value.getPositions()], dtype=np.float32)
                np.testing.assert_array_equal(points, cache.positions(frame).astype(np.float32))
            with self.assertRaisesRegex(export.ExportError, "no frame"):
                export.export(folder / "cache", folder / "x.usdc", first=9)
            with self.assertRaisesRegex(export.ExportError, "expected a name"):
                export.export(folder / "cache", folder / "x.fbx")

    def test_a_batch_leaves_a_table(self):
        import pyarrow.parquet

        with support.folder() as name:
            folder = pathlib.Path(name)
            (folder / "in").mkdir()
            for index, count in enumerate([4, 5]):
                support.write_obj(folder / "in" / f"s{index}.obj", *support.crossing_sheets(count))
            words = [str(folder / "in"), "-o", str(folder / "out"), "--command", "check", "-q"]
            self.assertEqual(batch.main(words), 0)
            table = pyarrow.parquet.read_table(folder / "out" / "report.parquet").to_pylist()
            self.assertEqual([row["name"] for row in table], ["s0", "s1"])
            self.assertEqual({row["status"] for row in table}, {"done"})
            self.assertEqual(batch.pending(words), [])

    def test_examples_and_the_readme_run(self):
        for script in sorted((support.ROOT / "examples/python").glob("*.py")):
            with support.folder() as name:
                done = subprocess.run([sys.executable, script], cwd=name, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{script.name}: {done.stderr}")
        for page in ["README.md", "docs/python.md"]:
            blocks = re.findall(r"```python\n(.*?)```", (support.ROOT / page).read_text(), re.DOTALL)
            self.assertGreater(len(blocks), 0, page)
            for block in blocks:
                done = subprocess.run([sys.executable, "-c", block], cwd=support.ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{page}: {block}\n{done.stderr}")

    def test_the_wheel_carries_the_command(self):
        script = pathlib.Path(sys.executable).parent / "unsnarl"
        sample = support.ROOT / "samples/hanky_bli.obj"
        ours = subprocess.run([script, "check", sample, "--json", "-"], capture_output=True, text=True)
        self.assertEqual(ours.returncode, 1)
        theirs = support.run("check", sample, "--json", "-")
        self.assertEqual(support.plain(json.loads(ours.stdout)), support.plain(theirs))
        bad = subprocess.run([script, "check", "none.obj"], capture_output=True, text=True)
        self.assertEqual((bad.returncode, len(bad.stderr.splitlines())), (2, 1))

    def test_the_package_is_imported_quickly(self):
        code = "import time; t = time.perf_counter(); import unsnarl; unsnarl.check; print(time.perf_counter() - t)"
        times = [float(subprocess.check_output([sys.executable, "-c", code], env=os.environ)) for _ in range(5)]
        print(f"import takes {min(times):.3f} s")
        # The bar is 0.2 s on a machine with nothing else to do.
        self.assertLess(min(times), 0.5)


if __name__ == "__main__":
    unittest.main()
