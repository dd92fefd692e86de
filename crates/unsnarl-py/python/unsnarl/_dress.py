"""`unsnarl.dress`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _meshes, _unsnarl


class DressResult:
    """Garments in order."""

    def __init__(self, V: list[np.ndarray], report: dict[str, Any]) -> None:
        #: Positions of every garment, in the order in which they were given.
        self.V = V
        #: The report, as `unsnarl dress --json` writes it.
        self.report = report

    @property
    def clean(self) -> bool:
        """Whether the exact check of these very positions found nothing."""
        return self.report["clean"]

    @property
    def layers(self) -> list[dict[str, Any]]:
        """The layers from the inside out, garments of several components one by one: displacement, stretch, tightness."""
        return self.report["layers"]

    def __repr__(self) -> str:
        left = "clean" if self.clean else f"{self.report['after']['intersecting_triangle_pairs']} pairs left"
        return f"DressResult({left}, {len(self.layers)} layers, {self.report['seconds']['total']:.2f} s)"


def dress(
    garments: Any,
    body: Any = None,
    *,
    layers: Sequence[int] | None = None,
    thickness: Any = 0.001,
    weights: Any = 1.0,
    body_thickness: float = 0.001,
    reach: float = 0.08,
    rest: Any = None,
    fix: bool = True,
    max_seconds: float = 300.0,
    threads: int | None = None,
) -> DressResult:
    """Puts garments that each fit a body in order, a chosen distance apart, and certifies the result.

    `garments`: a list of meshes, from the inside out, or in any order with `layers`, one number for each. `body`: closed meshes,
    as `check` takes them. `thickness`: metres, one number or one for each garment; neighbours keep half of both. `weights`: how
    much a garment resists beside the others, likewise. `reach`: how far layers see each other, metres. `rest`: a list of rest
    shapes, as `fix` takes them. `fix=False` reports what is left instead of untangling it.
    """
    own, is_one = _meshes.meshes(garments, None, "garment")
    count = len(own)
    rests = _meshes.per_garment(rest, count, is_one, "rest")
    wishes = {
        "layers": _order(layers, count),
        "thickness": _each(thickness, count, "thickness", least=0.0),
        "weights": _each(weights, count, "weights", least=np.nextafter(0.0, 1.0)),
        "body_thickness": _each(body_thickness, 1, "body_thickness", least=0.0)[0],
        "reach": _each(reach, 1, "reach", least=np.nextafter(0.0, 1.0))[0],
        "fix": bool(fix),
        "max_seconds": _meshes.seconds(max_seconds),
    }
    shapes = [None if shape is None else _meshes.panels(shape, garment) for garment, shape in zip(own, rests, strict=True)]
    tasks: list[Any] = [(garment, shape, []) for garment, shape in zip(own, shapes, strict=True)]
    positions, report = _unsnarl.dress(tasks, _meshes.bodies(body), wishes, threads)
    return DressResult(positions, json.loads(report))


def _order(layers: Any, count: int) -> list[int]:
    """One number for each garment; as they come without any."""
    numbers = _meshes.layers(layers) or list(range(1, count + 1))
    if len(numbers) != count:
        raise ValueError(f"layers: {len(numbers)} numbers for {count} garments")
    return numbers


def _each(value: Any, count: int, what: str, least: float) -> list[float]:
    """One number for each garment, from a list or from one that holds for all."""
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=float), (count,))
    except (TypeError, ValueError):
        raise ValueError(f"{what}: expected a number, or one for each of the {count} garments") from None
    for number in numbers:
        if not least <= number < np.inf:
            raise ValueError(f"{what}: {number} is out of range")
    return [float(number) for number in numbers]
