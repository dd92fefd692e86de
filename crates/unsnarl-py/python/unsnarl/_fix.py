"""`unsnarl.fix`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _meshes, _unsnarl


class Progress(NamedTuple):
    """What a callback hears of a step."""

    step: int
    #: Contours that are left.
    contours: int
    #: Vertices on the wrong side.
    red_vertices: int
    #: Where cloth is, all garments one after the other.
    V: np.ndarray


class FixResult:
    """What came of it."""

    def __init__(self, V: Any, report: dict[str, Any]) -> None:
        #: Positions in the order of the input: an array, or a list of them for a list of garments.
        self.V = V
        #: The report, as `unsnarl fix --json` writes it.
        self.report = report

    @property
    def clean(self) -> bool:
        """Whether the exact check of these very positions found nothing."""
        return self.report["clean"]

    @property
    def gap(self) -> dict[str, Any] | None:
        """What was reached of the gap, if one was asked for: `asked`, `certified`, `pairs_below`, `exempt`, `nearest`."""
        return self.report.get("gap")

    @property
    def keeps_gap(self) -> bool:
        """Whether it is clean and every pair keeps the gap that was asked for; `clean` if none was."""
        return self.clean and (self.gap is None or self.gap["pairs_below"] == 0)

    def __repr__(self) -> str:
        left = "clean" if self.clean else f"{self.report['after']['intersecting_triangle_pairs']} pairs left"
        return f"FixResult({left}, {self.report['steps']} steps, {self.report['seconds']:.2f} s)"


def fix(
    V: Any,
    F: Any = None,
    body: Any = None,
    rest: Any = None,
    pins: Any = None,
    layers: Sequence[int] | None = None,
    style: str | Sequence[str] | Mapping[str, str] | None = None,
    gap: float | None = None,
    method: str = "auto",
    max_seconds: float = 300.0,
    on_step: Callable[[Progress], Any] | None = None,
    *,
    gap_strict: bool = False,
    threads: int | None = None,
) -> FixResult:
    """Untangles a garment, or a list of garments together, and certifies the result.

    V, F, body: as `check` takes them. `rest`: points (n, 3) of the garment at rest, or panels in metres as (n, 2) or as a
    pair (UV, triangles); its own shape without. `pins`: indices or a mask of vertices that stay. `layers`: one number for
    each garment, from the inside out. `style`: what becomes of folds that bite into themselves: `unfold`, `fold-out`,
    `fold-in`, `crease`, or {where: style}. `on_step(progress)` hears of every step; `False` stops with the best so far.
    `gap`: metres that no two parts may be nearer than, opened after untangling and certified; pairs that are nearer at rest
    already are exempt, unless `gap_strict=True`.
    For a list of garments `rest` and `pins` are lists too, with None where there is nothing to say.
    """
    garments, is_one = _meshes.meshes(V, F, "garment")
    rests = _meshes.per_garment(rest, len(garments), is_one, "rest")
    held = _meshes.per_garment(pins, len(garments), is_one, "pins")
    wishes = {
        "layers": _meshes.layers(layers),
        "style": _styles(style),
        "method": method,
        "max_seconds": _meshes.seconds(max_seconds),
        "gap": _meshes.gap(gap, gap_strict),
        "gap_strict": bool(gap_strict),
    }
    if on_step is not None and not callable(on_step):
        raise TypeError("on_step: expected a function of one argument")
    tasks = []
    for garment, own_rest, own_pins in zip(garments, rests, held, strict=True):
        shape = None if own_rest is None else _meshes.panels(own_rest, garment)
        fixed = [] if own_pins is None else _meshes.indices(own_pins, f"{garment.name} pins", len(garment.points))
        tasks.append((garment, shape, fixed))
    listener = None if on_step is None else lambda *news: on_step(Progress(*news))
    positions, report = _unsnarl.fix(tasks, _meshes.bodies(body), wishes, listener, threads)
    return FixResult(positions[0] if is_one else positions, json.loads(report))


def _styles(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [f"{where}={style}" for where, style in value.items()]
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return list(value)
    raise TypeError("style: expected a style, a list of [where=]style, or a dictionary {where: style}")
