"""`unsnarl.check`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _meshes, _unsnarl


class CheckReport:
    """What was found: the fields of the command's report, and the pairs of triangles that meet."""

    def __init__(self, report: dict[str, Any], pairs: np.ndarray) -> None:
        #: The whole report, as `unsnarl check --json` writes it.
        self.report = report
        #: Triangles that meet, one pair per row; garments are numbered through, then bodies.
        self.pairs = pairs

    @property
    def clean(self) -> bool:
        """Whether no two triangles meet."""
        return self.report["clean"]

    @property
    def types(self) -> dict[str, int]:
        """How many contours there are of each type."""
        return self.report["types"]

    @property
    def contours(self) -> list[dict[str, Any]]:
        """The contours, the longest first."""
        return self.report["contours"]

    @property
    def gap(self) -> dict[str, Any] | None:
        """What was found out about the gap, if one was asked for: `asked`, `certified`, `pairs_below`, `exempt`, `nearest`."""
        return self.report.get("gap")

    @property
    def keeps_gap(self) -> bool:
        """Whether nothing meets and every pair keeps the gap that was asked for; `clean` if none was."""
        return self.clean and (self.gap is None or self.gap["pairs_below"] == 0)

    @property
    def smallest_gap(self) -> float | None:
        """Metres between parts that do not meet, if it was asked for."""
        return self.report["smallest_gap"]

    def __repr__(self) -> str:
        if self.clean:
            return f"CheckReport(clean, {self.report['triangles']} triangles)"
        return f"CheckReport(not clean, {len(self.pairs)} pairs meet in {len(self.contours)} contours)"


def check(
    V: Any,
    F: Any = None,
    body: Any = None,
    gap: bool | float | None = None,
    *,
    gap_strict: bool = False,
    threads: int | None = None,
) -> CheckReport:
    """Finds every intersection of a garment, or of a list of garments, with itself, with each other and with bodies.

    V, F: points (n, 3) in metres and triangles (m, 3); or a mesh with `.vertices`/`.faces` (trimesh) or `.points`/`.faces`
    (pyvista) alone; or a list of meshes. `body`: a mesh or a list; its own intersections do not count.
    `gap=True` also measures the smallest gap; `gap=0.002` says which pairs are nearer than two millimetres, but for those
    that are nearer at rest already (`gap_strict=True`: no pair is exempt).
    """
    garments, _ = _meshes.meshes(V, F, "garment")
    is_measured = gap is not None and not isinstance(gap, (bool, np.bool_))
    asked = _meshes.gap(gap if is_measured else None, gap_strict)
    wishes = {"smallest_gap": bool(gap), "gap": asked, "gap_strict": bool(gap_strict)}
    report, pairs = _unsnarl.check(garments, _meshes.bodies(body), wishes, threads)
    return CheckReport(json.loads(report), pairs)
