"""`refine`, `tetrahedralize` and `trim`: the bits and reports of the commands, and theory."""

import pathlib
import unittest

import numpy as np
import support
import unsnarl


def shared(ours, theirs):
    """Both reports without seconds and names, by the keys of ours."""
    ours, theirs = support.plain(ours), support.plain(theirs)
    return ours, {key: theirs[key] for key in ours}


class Refine(unittest.TestCase):
    def test_meshes_and_reports_are_those_of_the_command(self):
        V, F = support.sheet(7, lambda x, z: 0.01 * np.sin(60 * x) * np.cos(40 * z))
        VB, FB = support.sphere(8, 0.02)
        VB = VB + [0.03, -0.032, 0.03]
        with support.folder() as name:
            cloth, body, out = (pathlib.Path(name) / file for file in ("cloth.obj", "body.obj", "out.obj"))
            support.write_obj(cloth, V, F)
            support.write_obj(body, VB, FB)
            for words, wishes in [
                ((), {}),
                (("--until", "0.4mm"), {"until": 0.0004}),
                (("--interpolate", "--gap"), {"interpolate": True, "gap": True}),
                (("--scheme", "bounded", "--crease-angle", 20), {"scheme": "bounded", "crease_angle": 20}),
            ]:
                theirs = support.run("refine", cloth, "--body", body, "-o", out, *words, "--json", "-", status=0)
                ours = unsnarl.refine(V, F, body=(VB, FB), **wishes)
                self.assertEqual(*shared(ours.report, theirs))
                points, triangles = support.read_obj(out)
                np.testing.assert_array_equal(points, ours.V)
                np.testing.assert_array_equal(triangles, ours.F)
                self.assertTrue(ours.certified and unsnarl.check(ours.V, ours.F, body=(VB, FB)).clean)
                self.assertEqual(len(ours.F), 4 ** len(ours.report["levels"]) * len(F))
                if "interpolate" in wishes:
                    np.testing.assert_array_equal(ours.V[: len(V)], V)

    def test_creases_stay_sharp_and_normals_are_units(self):
        # A roof: its ridge is straight, so a crease stays where it is, and without one it sinks.
        V, F = support.sheet(9, lambda x, z: 0.04 - np.abs(x - 0.04))
        ridge = np.flatnonzero(np.isclose(V[:, 0], 0.04))
        edges = np.stack([ridge[:-1], ridge[1:]], axis=1)
        sharp, smooth = unsnarl.refine(V, F, creases=edges, levels=1), unsnarl.refine(V, F, levels=1)
        self.assertAlmostEqual(sharp.V[:, 1].max(), 0.04, places=12)
        self.assertLess(smooth.V[:, 1].max(), 0.0395)
        np.testing.assert_allclose(np.linalg.norm(sharp.normals, axis=1), 1.0, atol=1e-12)
        both = unsnarl.refine([(V, F), (V + [0, 0.1, 0], F)], creases=[edges, None], levels=1)
        np.testing.assert_array_equal(both.V[0], sharp.V)
        np.testing.assert_allclose(both.V[1] - [0, 0.1, 0], smooth.V, atol=1e-12)

    def test_wrong_wishes_are_one_clear_line(self):
        V, F = support.sheet(4)
        W, G = support.crossing_sheets(12)
        rows = [
            (lambda: unsnarl.refine(V, F, levels=0), "levels: expected a number from 1 to 10"),
            (lambda: unsnarl.refine(V, F, until=-1), "until: expected metres above 0"),
            (lambda: unsnarl.refine(V, F, levels=1.5), "levels: expected a whole number"),
            (lambda: unsnarl.refine(V, F, levels=10**6), "levels"),
            (lambda: unsnarl.refine(V, F, scheme="square"), "scheme: `square` is none of loop, bounded"),
            (lambda: unsnarl.refine(V, F, crease_angle=200), "crease_angle: expected 0 to 180"),
            (lambda: unsnarl.refine(V, F, creases=[[0, 99]]), "creases: edge 0 names vertex 99"),
            (lambda: unsnarl.refine(V, F, creases=[[0, 15]]), "creases: there is no edge from vertex 0 to 15"),
            (lambda: unsnarl.refine(V, F, creases=[0, 1]), "creases: expected shape (k, 2)"),
            (lambda: unsnarl.refine(W, G), "triangle pairs meet before refinement"),
        ]
        for call, words in rows:
            with self.assertRaises((ValueError, TypeError)) as caught:
                call()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
        self.assertFalse(unsnarl.refine(W, G, levels=1, force=True).certified)


class Tetrahedra(unittest.TestCase):
    def test_meshes_and_reports_are_those_of_the_command(self):
        V, F = support.sphere(12)
        with support.folder() as name:
            body, out = pathlib.Path(name) / "body.obj", pathlib.Path(name) / "out.vtk"
            support.write_obj(body, V, F)
            theirs = support.run("tet", body, "-o", out, "--count", 2000, "--json", "-", status=0)
            ours = unsnarl.tetrahedralize(V, F, count=2000)
        self.assertEqual(*shared(ours.report, theirs))
        self.assertEqual((len(ours.V), len(ours.T)), (theirs["nodes"], theirs["tets"]))

    def test_a_ball_is_filled_with_positive_elements(self):
        V, F = support.sphere(24)
        for filled in [unsnarl.tetrahedralize(V, F, edge=0.15), unsnarl.tetrahedralize(unsnarl.LevelSet.from_mesh(V, F, resolution=48), edge=0.15)]:
            a, b, c, d = (filled.V[filled.T[:, corner]] for corner in range(4))
            volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6
            self.assertGreater(volumes.min(), 0)
            self.assertAlmostEqual(volumes.sum(), 4 / 3 * np.pi * 0.5**3, delta=0.03)
            self.assertEqual(len(filled.levels), len(filled.T))
            # The boundary is closed, faces outward, and lies on the sphere.
            p, q, r = (filled.V[filled.surface[:, corner]] for corner in range(3))
            self.assertAlmostEqual(np.einsum("ij,ij->i", np.cross(p, q), r).sum() / 6, volumes.sum(), places=9)
            np.testing.assert_allclose(np.linalg.norm(p, axis=1), 0.5, atol=0.02)

    def test_wrong_wishes_are_one_clear_line(self):
        V, F = support.sphere(8)
        rows = [
            (dict(edge=-1), "edge: expected metres above 0"),
            (dict(edge=0.1, count=10), "edge, count: give one of them"),
            (dict(count=0), "count: expected a number from 1 on"),
            (dict(levels=11), "levels: expected a number from 0 to 10"),
            (dict(criterion="best"), "criterion: `best` is none of"),
            (dict(compress="air"), "compress: `air` is none of"),
            (dict(edge=5.0), "use a smaller edge"),
            (dict(edge="long"), "edge: expected a number"),
        ]
        for wishes, words in rows:
            with self.assertRaises((ValueError, TypeError), msg=words) as caught:
                unsnarl.tetrahedralize(V, F, **wishes)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "names vertex"):
            unsnarl.tetrahedralize(V, F + len(V))


class Trim(unittest.TestCase):
    def test_meshes_and_reports_are_those_of_the_command(self):
        V, F = support.sheet(24)
        VB, FB = support.sphere(16, 0.08)
        VB = VB + [0.115, 0, 0.115]
        with support.folder() as name:
            mesh, by, out = (pathlib.Path(name) / file for file in ("mesh.obj", "by.obj", "out.obj"))
            support.write_obj(mesh, V, F)
            support.write_obj(by, VB, FB)
            for keep in ["inside", "outside"]:
                theirs = support.run("trim", mesh, "--by", by, "--keep", keep, "--rings", 2, "-o", out, "--json", "-", status=0)
                ours = unsnarl.trim(V, F, by=(VB, FB), keep=keep, rings=2)
                self.assertEqual(*shared(ours.report, theirs))
                points, triangles = support.read_obj(out)
                np.testing.assert_array_equal(points, ours.V)
                np.testing.assert_array_equal(triangles, ours.F)
                # The sheet is a plane: its border is a circle.
                around = np.linalg.norm(ours.V[ours.border[:, 0]] - [0.115, 0, 0.115], axis=1)
                np.testing.assert_allclose(around, 0.08, atol=2e-3)
                kept = ours.origin >= 0
                far = kept & (np.abs(np.linalg.norm(ours.V - [0.115, 0, 0.115], axis=1) - 0.08) > 0.05)
                self.assertGreater(far.sum(), 10)
                np.testing.assert_array_equal(ours.V[far], V[ours.origin[far]])

    def test_level_sets_cut_too_and_wrong_wishes_are_one_clear_line(self):
        V, F = support.sheet(24)
        VB, FB = support.sphere(16, 0.08)
        levels = unsnarl.LevelSet.from_mesh(VB + [0.115, 0, 0.115], FB, spacing=0.0025)
        self.assertGreater(len(unsnarl.trim(V, F, by=levels).F), 100)
        rows = [
            (dict(by=levels, spacing=0.1), "spacing: is for a mesh"),
            (dict(by=(VB, FB), spacing=-1), "spacing: expected metres above 0"),
            (dict(by=levels, keep="both"), "keep: `both` is none of inside, outside"),
            (dict(by=levels, rings=0), "rings: expected a number from 1 to 1000"),
            (dict(by=(VB + 9, FB)), "nothing would be left"),
        ]
        for wishes, words in rows:
            with self.assertRaises((ValueError, TypeError), msg=words) as caught:
                unsnarl.trim(V, F, **wishes)
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
