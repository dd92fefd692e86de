"""`unsnarl.refine`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _meshes, _unsnarl


class RefineResult:
    """Refined garments: arrays, or lists of them for a list of garments."""

    def __init__(self, V: Any, F: Any, normals: Any, report: dict[str, Any]) -> None:
        #: Points: those that were vertices of the input come first, in their order.
        self.V = V
        #: Triangles.
        self.F = F
        #: Normals of the smooth surface at the points.
        self.normals = normals
        #: The report, as `unsnarl refine --json` writes it.
        self.report = report

    @property
    def certified(self) -> bool:
        """Whether the exact check of these very positions found nothing."""
        return self.report["certified"]

    def __repr__(self) -> str:
        certified = "certified" if self.certified else "not certified"
        return f"RefineResult({certified}, {self.report['vertices']} vertices, {self.report['triangles']} triangles)"


def refine(
    V: Any,
    F: Any = None,
    body: Any = None,
    *,
    levels: int = 2,
    until: float | None = None,
    scheme: str = "loop",
    interpolate: bool = False,
    crease_angle: float | None = None,
    creases: Any = None,
    force: bool = False,
    gap: bool = False,
    threads: int | None = None,
) -> RefineResult:
    """Smooth cloth by subdivision that does not intersect: each level turns one triangle into four.

    V, F, body: as `check` takes them; bodies stop cloth and are not refined. `until`: instead of `levels`, as many (at most 6)
    as it takes until smoothing moves no vertex by as many metres any more. `scheme`: `loop`, or `bounded` for bounded
    curvature. `interpolate`: the vertices of the input stay where they are. `crease_angle`: edges bent by more degrees stay
    sharp; `creases`: so do these, as rows (k, 2) of vertices (for a list of garments a list). Cloth that is not clean is
    refused; `force=True` leaves out pairs that meet, and certifies nothing. `gap=True` measures the smallest gap.
    """
    garments, is_one = _meshes.meshes(V, F, "garment")
    sharp = _meshes.per_garment(creases, len(garments), is_one, "creases")
    wishes = {
        "levels": _meshes.whole_number(levels, "levels"),
        "until": _meshes.number(until, "until"),
        "scheme": str(scheme),
        "interpolate": bool(interpolate),
        "crease_angle": _meshes.number(crease_angle, "crease_angle"),
        "force": bool(force),
        "smallest_gap": bool(gap),
    }
    tasks = [(own, _meshes.edges(edges, f"{own.name} creases")) for own, edges in zip(garments, sharp, strict=True)]
    fine, report = _unsnarl.refine(tasks, _meshes.bodies(body), wishes, threads)
    columns: list[list[np.ndarray]] = [list(column) for column in zip(*fine, strict=True)]
    points, triangles, normals = ([column[0] for column in columns] if is_one else columns)
    return RefineResult(points, triangles, normals, json.loads(report))
