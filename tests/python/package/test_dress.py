"""`dress`: the bits and the report of the command, the order, and wrong input."""

import pathlib
import unittest

import numpy as np
import support
import unsnarl


def outfit():
    """Two closed shells around a ball, each long where the other is short, so that they cross."""
    VB, FB = support.sphere(10, 0.05)
    V, F = support.sphere(14, 0.06)
    return [(V * [1.1, 1, 1], F), (V * [1, 1.1, 1], F)], (VB, FB)


SCENE = """
[[cloth]]
name = "garment0"
mesh = "a.obj"
layer = 1
weight = 1.0
thickness = 0.001
[[cloth]]
name = "garment1"
mesh = "b.obj"
layer = 2
weight = 1.0
thickness = 0.001
[[body]]
name = "body"
mesh = "body.obj"
"""


class Dress(unittest.TestCase):
    def test_positions_and_report_are_those_of_the_command(self):
        garments, body = outfit()
        with support.folder() as name:
            folder = pathlib.Path(name)
            for file, (V, F) in zip(("a.obj", "b.obj", "body.obj"), [*garments, body], strict=True):
                support.write_obj(folder / file, V, F)
            (folder / "s.toml").write_text(SCENE)
            theirs = support.run("dress", folder / "s.toml", "-o", folder / "out", "--json", "-", status=0)
            ours = unsnarl.dress(garments, body)
            ours.report["seconds"] = theirs["seconds"] = {}
            self.assertEqual(support.plain(theirs), support.plain(ours.report))
            for index, own in enumerate(ours.V):
                np.testing.assert_array_equal(support.read_obj(folder / f"out/garment{index}.obj")[0], own)
        self.assertFalse(unsnarl.check(garments, body=body).clean)
        self.assertTrue(ours.clean and unsnarl.check([(V, F) for V, (_, F) in zip(ours.V, garments, strict=True)], body=body).clean)

    def test_the_order_is_what_was_asked_for(self):
        garments, body = outfit()
        for layers in ([1, 2], [2, 1]):
            result = unsnarl.dress(garments, body, layers=layers, thickness=0.002)
            self.assertTrue(result.clean)
            radii = [np.linalg.norm(V, axis=1) for V in result.V]
            inner, outer = sorted(range(2), key=layers.__getitem__)
            # Same directions in both meshes, up to their scales: nearly the same vertex of the other lies inside.
            self.assertGreater(np.mean(radii[outer] > radii[inner]), 0.98)

    def test_wrong_input_is_one_line(self):
        garments, body = outfit()
        rows = [
            ({"layers": [1]}, "layers: 1 numbers for 2 garments"),
            ({"thickness": -1}, "thickness: -1.0 is out of range"),
            ({"weights": [1, 2, 3]}, "weights: expected a number"),
            ({"reach": 0}, "reach: 0.0 is out of range"),
            ({"body": (body[0], body[1][:-1])}, "the body is open"),
        ]
        for wishes, line in rows:
            with self.assertRaises(ValueError) as caught:
                unsnarl.dress(garments, **{"body": body, **wishes})
            self.assertIn(line, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
