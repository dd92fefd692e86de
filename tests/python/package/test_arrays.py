"""Arrays in: what is borrowed, what is copied once, and what is refused in one line."""

import unittest

import numpy as np
import support
import trimesh
import unsnarl
from unsnarl import _meshes, _unsnarl


class WithArray:
    """Nothing but `__array__`, as tensors have it."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


class LikePyvista:
    def __init__(self, V, F):
        self.points, self.faces = V, np.concatenate([np.full((len(F), 1), 3), F], axis=1).ravel()


class Arrays(unittest.TestCase):
    def test_contiguous_float64_and_int32_are_borrowed(self):
        V, F = support.sheet(5)
        self.assertIs(_meshes.points(V, "V"), V)
        self.assertIs(_meshes.triangles(F, "F"), F)
        V.flags.writeable = F.flags.writeable = False
        own = _meshes.mesh(V, F, "m")
        self.assertTrue(own.points is V and own.triangles is F)
        self.assertTrue(unsnarl.check(V, F).clean)

    def test_the_engine_reads_borrowed_arrays_where_they_are(self):
        V, F = support.sheet(5)

        def places(points, triangles):
            return _unsnarl.addresses(_meshes.mesh(points, triangles, "m"))

        own = (V.__array_interface__["data"][0], F.__array_interface__["data"][0])
        self.assertEqual(places(V, F), own)
        part = (V[5:], np.ascontiguousarray(F[:4] * 0 + [0, 1, 2]))
        self.assertEqual(places(*part)[0], own[0] + 5 * 24)
        V.flags.writeable = F.flags.writeable = False
        self.assertEqual(places(V, F), own)
        copied = places(V.astype(np.float32), F.astype(np.int64))
        self.assertTrue(copied[0] != own[0] and copied[1] != own[1])

    def test_everything_else_is_taken_with_the_same_result(self):
        V, F = support.crossing_sheets()
        V = V.astype(np.float32).astype(np.float64)
        expected = unsnarl.check(V, F)
        self.assertFalse(expected.clean)
        wide = np.zeros((len(V), 6))
        wide[:, ::2] = V
        unaligned = np.frombuffer(b"\0" + V.tobytes(), dtype=np.uint8)[1:].view("V8").view(np.float64).reshape(-1, 3)
        same = [
            (V.astype(np.float32), F.astype(np.int64)),
            (np.asfortranarray(V), np.asfortranarray(F)),
            (wide[:, ::2], F.astype(np.uint16)),
            (V.astype(">f8"), F.astype(">i8")),
            (unaligned, F.astype(np.uint64)),
            (V.tolist(), F.tolist()),
            (WithArray(V), WithArray(F)),
        ]
        for points, triangles in same:
            found = unsnarl.check(points, triangles)
            np.testing.assert_array_equal(found.pairs, expected.pairs)
            self.assertEqual(support.plain(found.report), support.plain(expected.report))
        mesh = trimesh.Trimesh(V, F, process=False)
        for own in [mesh, LikePyvista(V, F), (V, F)]:
            np.testing.assert_array_equal(unsnarl.check(own).pairs, expected.pairs)

    def test_lists_of_garments_and_bodies(self):
        V, F = support.sheet(8)
        W = V + [0, 0.004, 0] * np.sin(80 * V)
        for report in [unsnarl.check([(V, F), (W, F)]), unsnarl.check([V, W], [F, F])]:
            self.assertGreater(len(report.pairs), 0)
            self.assertEqual({name for one in report.report["parts"] for name in one["names"]}, {"garment0", "garment1"})
        self.assertFalse(unsnarl.check(V, F, body=(W, F)).clean)
        self.assertFalse(unsnarl.check(V, F, body=[(W, F), trimesh.Trimesh(W, F, process=False)]).clean)

    def test_wrong_input_is_one_clear_line(self):
        V, F = support.sheet(4)
        bad = V.copy()
        bad[3, 1] = np.nan
        huge = V.copy()
        huge[2, 0] = 1e31
        quads = np.zeros((2, 4), dtype=np.int32)
        rows = [
            (V[:, :2], F, ValueError, "expected shape (n, 3), found (16, 2)"),
            (V.ravel(), F, ValueError, "expected shape (n, 3)"),
            (V.astype(complex), F, TypeError, "expected numbers, found complex128"),
            (V.astype(str), F, TypeError, "expected numbers"),
            ([[0, 0, 0], [1, 2]], F, ValueError, "not an array"),
            (bad, F, ValueError, "vertex 3 has a coordinate that is not a finite number"),
            (huge, F, ValueError, "vertex 2 has a coordinate beyond 1e30"),
            (V[:0], F, ValueError, "no vertices"),
            (V, F[:0], ValueError, "no triangles"),
            (V, F.astype(float), TypeError, "expected whole numbers, found float64"),
            (V, quads, ValueError, "split quads"),
            (V, F - 1, ValueError, "names vertex -1"),
            (V, F + 10, ValueError, "vertex"),
            (V, F.astype(np.int64) + 2**40, ValueError, "beyond 32 bits"),
            (V, F * 0, ValueError, "triangle 0"),
            (V, None, TypeError, "expected points and triangles"),
            (None, F, TypeError, "expected numbers"),
            ([], None, ValueError, "an empty list"),
        ]
        for points, triangles, kind, words in rows:
            for call in (unsnarl.check, unsnarl.fix):
                with self.assertRaises(kind, msg=words) as caught:
                    call(points, triangles)
                self.assertIn(words, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))

    def test_wrong_wishes_are_one_clear_line(self):
        V, F = support.sheet(4)
        rows = [
            (dict(rest=V[:3]), ValueError, "rest: 3 rows, the garment has 16 vertices"),
            (dict(rest=(V[:, :2], F[:1])), ValueError, "1 triangles, the garment has 18"),
            (dict(pins=[99]), ValueError, "there is no vertex 99"),
            (dict(pins=[True]), ValueError, "a mask of 1 for 16 vertices"),
            (dict(pins=[0.5]), TypeError, "expected whole numbers or a mask"),
            (dict(layers=[0, 1]), ValueError, "layers: 2 for 1 garments"),
            (dict(layers="x"), TypeError, "layers"),
            (dict(style="smooth"), ValueError, "style: `smooth` is none of"),
            (dict(style={"sleeve": "crease"}), ValueError, "no garment or labelled panel is called `sleeve`"),
            (dict(style=3), TypeError, "style"),
            (dict(method="magic"), ValueError, "method"),
            (dict(max_seconds=-1), ValueError, "max_seconds"),
            (dict(max_seconds="soon"), TypeError, "max_seconds"),
            (dict(on_step=3), TypeError, "on_step"),
            (dict(threads=0), ValueError, "threads"),
            (dict(gap=0.0), ValueError, "gap: expected metres above 0, found 0.0"),
            (dict(gap=float("nan")), ValueError, "gap: expected metres above 0"),
            (dict(gap="wide"), TypeError, "gap: expected metres, found 'wide'"),
            (dict(gap=True), TypeError, "gap: expected metres, found a truth value"),
            (dict(gap=9.0), ValueError, "gap: 9 m is as large as the garment"),
            (dict(gap_strict=True), ValueError, "gap_strict: exempts no pair from the gap; give the gap too"),
        ]
        for wishes, kind, words in rows:
            with self.assertRaises(kind, msg=str(wishes)) as caught:
                unsnarl.fix(V, F, **wishes)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
