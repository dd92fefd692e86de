"""`unsnarl.LevelSet`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _meshes, _unsnarl


class LevelSet:
    """Signed distance to a closed surface, negative inside, on a sparse grid. It never changes: operations give new ones."""

    def __init__(self, levels: _unsnarl.Levels) -> None:
        self._levels = levels

    @classmethod
    def from_mesh(
        cls,
        V: Any,
        F: Any = None,
        *,
        spacing: float | None = None,
        resolution: int = 256,
        threads: int | None = None,
    ) -> LevelSet:
        """From a closed mesh; self-intersections and small holes are accepted.

        `spacing`: metres between samples; without it `resolution` samples go across the longest side.
        """
        own = _meshes.mesh(V, F, "mesh")
        return cls(_unsnarl.Levels.from_mesh(own, spacing, resolution, threads))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LevelSet:
        """Reads a file of `unsnarl levelset`."""
        return cls(_unsnarl.Levels.load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `unsnarl levelset` reads."""
        self._levels.save(os.fspath(path))

    def distance(self, points: Any, *, threads: int | None = None) -> np.ndarray:
        """Signed distances (n,) at points (n, 3); exact near the surface, beyond it good to about a tenth."""
        return self._levels.query(_meshes.points(points, "points"), threads)[0]

    def gradient(self, points: Any, *, threads: int | None = None) -> np.ndarray:
        """Gradients (n, 3) of the distance at points (n, 3)."""
        return self._levels.query(_meshes.points(points, "points"), threads)[1]

    def distance_and_gradient(self, points: Any, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Both at once."""
        return self._levels.query(_meshes.points(points, "points"), threads)

    def closest_point(self, points: Any, *, threads: int | None = None) -> np.ndarray:
        """The nearest points of the surface (n, 3); NaN where it is too far to be found."""
        return self._levels.closest(_meshes.points(points, "points"), threads)

    def to_mesh(self, method: str = "surface-nets", *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The surface as points and triangles: closed and manifold. `method`: `surface-nets` or `marching`."""
        return self._levels.to_mesh(method, threads)

    def union(self, other: LevelSet, blend: float = 0.0) -> LevelSet:
        """What is in either; `blend` rounds the seam, metres."""
        return LevelSet(self._levels.combine(other._levels, "union", blend))

    def intersection(self, other: LevelSet, blend: float = 0.0) -> LevelSet:
        """What is in both."""
        return LevelSet(self._levels.combine(other._levels, "intersection", blend))

    def difference(self, other: LevelSet, blend: float = 0.0) -> LevelSet:
        """What is in this one and not in the other."""
        return LevelSet(self._levels.combine(other._levels, "difference", blend))

    @property
    def spacing(self) -> float:
        """Metres between samples."""
        return self._levels.facts()[0]

    @property
    def half_width(self) -> float:
        """Metres on each side of the surface in which distances are exact."""
        return self._levels.facts()[1]

    @property
    def memory_bytes(self) -> int:
        """Bytes held."""
        return self._levels.facts()[2]
