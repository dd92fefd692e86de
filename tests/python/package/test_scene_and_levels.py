"""Scenes and level sets: the bits of the command, and theory."""

import pathlib
import unittest

import numpy as np
import support
import unsnarl
from unsnarl._cache import Cache

SCENE = """
[scene]
frames = 3
[[cloth]]
name = "sheet"
sheet = { size = [0.5, 0.5], cells = [8, 8] }
pin = [{ vertices = [0] }]
"""


class Scenes(unittest.TestCase):
    def setUp(self):
        self.folder = support.folder()
        self.path = pathlib.Path(self.folder.name) / "scene.toml"
        self.path.write_text(SCENE)

    def tearDown(self):
        self.folder.cleanup()

    def test_frames_are_those_of_the_command(self):
        cache = self.path.parent / "cache"
        support.run("-q", "sim", self.path, "-o", cache, status=0)
        scene = unsnarl.Scene.load(self.path)
        theirs = Cache(cache)
        np.testing.assert_array_equal(scene.positions, theirs.positions(0))
        for frame, positions in enumerate(scene.frames(), 1):
            np.testing.assert_array_equal(positions, theirs.positions(frame))
        self.assertEqual((scene.frame, scene.last_frame), (3, 3))
        self.assertAlmostEqual(scene.time, 3 / scene.frame_rate)
        np.testing.assert_array_equal(scene.triangles, theirs.mesh["triangles"])
        self.assertEqual(scene.pieces["sheet"][0], slice(0, 81))

    def test_pins_holds_and_settings_change_between_steps(self):
        scene = unsnarl.Scene.load(self.path, {"scene.frames": 9})
        self.assertEqual((scene.last_frame, scene.pins.tolist()), (9, [0]))
        start = scene.positions
        scene.step()
        fell = start[:, 1] - scene.positions[:, 1]
        self.assertTrue(fell[0] == 0 and fell[40] > 0)
        scene.pins = np.ones(81, dtype=bool)
        before = scene.positions
        scene.step()
        np.testing.assert_array_equal(scene.positions, before)
        scene.pins = []
        scene.hold([0], before[:1] + [0, 0.01, 0])
        scene.step()
        np.testing.assert_allclose(scene.positions[0], before[0] + [0, 0.01, 0], atol=1e-12)
        scene.hold([], [])
        scene.set({"time.step": 0.002})
        self.assertEqual(scene.settings["time"]["step"], 0.002)
        self.assertGreaterEqual(scene.step()["steps"], 1)
        scene.positions = start
        np.testing.assert_array_equal(scene.positions, start)

    def test_wrong_changes_are_one_clear_line(self):
        with self.assertRaisesRegex(ValueError, "cannot read"):
            unsnarl.Scene.load(self.path.parent / "none.toml")
        scene = unsnarl.Scene.load(self.path)
        for call in [
            lambda: scene.set({"time.stop": 1}),
            lambda: scene.set({"time.step": "long"}),
            lambda: scene.step(-1),
            lambda: setattr(scene, "pins", [81]),
            lambda: setattr(scene, "positions", np.zeros((3, 3))),
            lambda: scene.hold([0, 1], np.zeros((1, 3))),
        ]:
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))


class LevelSets(unittest.TestCase):
    def test_distances_are_those_of_a_sphere(self):
        V, F = support.sphere(48)
        levels = unsnarl.LevelSet.from_mesh(V, F, resolution=64)
        random = np.random.default_rng(1)
        points = random.normal(size=(1000, 3))
        points *= (0.5 + random.uniform(-0.02, 0.02, size=1000))[:, None] / np.linalg.norm(points, axis=1)[:, None]
        distance, gradient = levels.distance_and_gradient(points)
        np.testing.assert_allclose(distance, np.linalg.norm(points, axis=1) - 0.5, atol=2e-3)
        outward = points / np.linalg.norm(points, axis=1)[:, None]
        self.assertGreater(np.einsum("ij,ij->i", gradient, outward).min(), 0.9)
        closest = levels.closest_point(points)
        np.testing.assert_allclose(np.linalg.norm(closest, axis=1), 0.5, atol=3e-3)
        remeshed, triangles = levels.to_mesh()
        self.assertTrue(unsnarl.check(remeshed, triangles).clean)
        both = levels.union(unsnarl.LevelSet.from_mesh(V + [0.3, 0, 0], F, spacing=levels.spacing))
        self.assertLess(both.distance([[0.75, 0, 0]])[0], 0)
        self.assertGreater(levels.distance([[0.75, 0, 0]])[0], 0)

    def test_files_are_those_of_the_command(self):
        V, F = support.sphere(12)
        with support.folder() as name:
            folder = pathlib.Path(name)
            support.write_obj(folder / "s.obj", V, F)
            support.run("levelset", "from", folder / "s.obj", "-o", folder / "theirs.level", "--resolution", 32, status=0)
            levels = unsnarl.LevelSet.from_mesh(V, F, resolution=32)
            levels.save(folder / "ours.level")
            self.assertEqual((folder / "ours.level").read_bytes(), (folder / "theirs.level").read_bytes())
            again = unsnarl.LevelSet.load(folder / "theirs.level")
            np.testing.assert_array_equal(again.distance(V), levels.distance(V))
        with self.assertRaisesRegex(ValueError, "spacing"):
            unsnarl.LevelSet.from_mesh(V, F, spacing=-1.0)


if __name__ == "__main__":
    unittest.main()
