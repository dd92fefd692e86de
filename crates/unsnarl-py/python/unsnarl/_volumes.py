"""`unsnarl.tetrahedralize` and `unsnarl.trim`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _meshes, _unsnarl
from ._level_set import LevelSet


class TetMesh:
    """A body filled with tetrahedra, all of them positive by exact predicates."""

    def __init__(
        self, V: np.ndarray, T: np.ndarray, levels: np.ndarray, surface: np.ndarray, report: dict[str, Any]
    ) -> None:
        #: Nodes (n, 3).
        self.V = V
        #: Tetrahedra (m, 4).
        self.T = T
        #: The refinement level of each (m,), 0 the coarsest.
        self.levels = levels
        #: Triangles of the boundary (k, 3), outward.
        self.surface = surface
        #: The report, as `unsnarl tet --json` writes it.
        self.report = report

    def __repr__(self) -> str:
        return f"TetMesh({len(self.V)} nodes, {len(self.T)} tetrahedra)"


def tetrahedralize(
    V: Any,
    F: Any = None,
    *,
    edge: float | None = None,
    count: int | None = None,
    levels: int = 6,
    criterion: str = "error",
    compress: str = "optimise",
    threads: int | None = None,
) -> TetMesh:
    """Fills a body with tetrahedra; the body is a mesh, watertight or broken, or a `LevelSet`.

    `edge`: the longest edge of the finest elements, metres; or `count`: about so many elements (50,000 without either).
    `levels`: how often the coarsest may be halved. `criterion`: where to refine, `error`, `curvature` or `uniform`.
    `compress`: how the boundary is moved to the surface, `optimise`, `springs` or `elements`.
    """
    wishes = {
        "edge": _meshes.number(edge, "edge"),
        "count": None if count is None else _meshes.whole_number(count, "count"),
        "levels": min(_meshes.whole_number(levels, "levels"), 255),
        "criterion": str(criterion),
        "compress": str(compress),
    }
    nodes, tets, depths, surface, report = _unsnarl.tetrahedralize(_body(V, F, "body"), wishes, threads)
    return TetMesh(nodes, tets, depths, surface, json.loads(report))


class TrimResult:
    """What is left of a surface."""

    def __init__(
        self, V: np.ndarray, F: np.ndarray, origin: np.ndarray, border: np.ndarray, report: dict[str, Any]
    ) -> None:
        #: Points (n, 3).
        self.V = V
        #: Triangles (m, 3).
        self.F = F
        #: The vertex of the input that each point was (n,), -1 for new ones.
        self.origin = origin
        #: Edges (k, 2) of the new border, each in the direction of its triangle.
        self.border = border
        #: The report, as `unsnarl trim --json` writes it.
        self.report = report

    def __repr__(self) -> str:
        return f"TrimResult({len(self.V)} vertices, {len(self.F)} triangles, {len(self.border)} border edges)"


def trim(
    V: Any,
    F: Any = None,
    *,
    by: Any,
    keep: str = "inside",
    spacing: float | None = None,
    rings: int = 5,
    threads: int | None = None,
) -> TrimResult:
    """Cuts a surface along a level set, with good triangles and a smooth border.

    V, F: any triangle mesh, open or closed. `by`: a `LevelSet`, or a closed mesh, of which one is made with `spacing` metres
    between samples (a quarter of the surface's mean edge without). `keep`: `inside` or `outside`. `rings`: how many
    rings of vertices around the cut may move; all others keep their bits.
    """
    wishes = {
        "keep": str(keep),
        "spacing": _meshes.number(spacing, "spacing"),
        "rings": _meshes.whole_number(rings, "rings"),
    }
    points, triangles, origin, border, report = _unsnarl.trim(
        _meshes.mesh(V, F, "mesh"), _body(by, None, "by"), wishes, threads
    )
    return TrimResult(points, triangles, origin, border, json.loads(report))


def _body(value: Any, faces: Any, name: str) -> Any:
    """A level set as the engine has it, or a mesh."""
    return value._levels if isinstance(value, LevelSet) else _meshes.mesh(value, faces, name)
