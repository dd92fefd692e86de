"""`unsnarl.Scene`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _meshes, _unsnarl


class Scene:
    """A scene file under way: `Scene.load(path)`, then `step()` frame by frame.

    A frame that Ctrl-C leaves is broken off between two steps; the scene can be used again.
    """

    def __init__(self, simulated: _unsnarl.Simulated) -> None:
        self._simulated = simulated

    @classmethod
    def load(cls, path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None) -> Scene:
        """Reads a scene; `changes` maps paths such as `settings.time.step` to values, as `--set` does."""
        listed = [f"{place}={_toml(value)}" for place, value in (changes or {}).items()]
        return cls(_unsnarl.Simulated.load(os.fspath(path), listed))

    def step(self, seconds: float | None = None, *, threads: int | None = None) -> dict[str, Any]:
        """Goes on by a frame, or by some seconds; gives the report of the frame."""
        return json.loads(self._simulated.advance(None if seconds is None else float(seconds), threads))

    def frames(self, count: int | None = None) -> Iterator[np.ndarray]:
        """Steps on and hands out positions, frame by frame: so many, or to the end of the scene."""
        left = self.last_frame - self.frame if count is None else count
        for _ in range(left):
            self.step()
            yield self.positions

    @property
    def positions(self) -> np.ndarray:
        """Where cloth is: a new array (n, 3), metres."""
        return self._simulated.positions()

    @positions.setter
    def positions(self, value: Any) -> None:
        self._simulated.set_positions(_meshes.points(value, "positions"))

    @property
    def velocities(self) -> np.ndarray:
        """How fast cloth moves: a new array (n, 3), m/s."""
        return self._simulated.velocities()

    @property
    def triangles(self) -> np.ndarray:
        """The triangles of all cloth (m, 3)."""
        return self._simulated.triangles()

    @property
    def pieces(self) -> dict[str, tuple[slice, slice]]:
        """Rows of `positions` and of `triangles` of every piece of cloth."""
        return {name: (slice(*rows), slice(*corners)) for name, rows, corners in self._simulated.pieces()}

    @property
    def bodies(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Points and triangles of every body, as they are now."""
        return {name: (points, triangles) for name, points, triangles in self._simulated.bodies()}

    @property
    def pins(self) -> np.ndarray:
        """Vertices that stay where they are. May be set between steps."""
        return np.array(self._simulated.pins(), dtype=np.int32)

    @pins.setter
    def pins(self, value: Any) -> None:
        self._simulated.set_pins(_meshes.indices(value, "pins", len(self.positions)))

    def hold(self, vertices: Any, positions: Any) -> None:
        """Leads vertices to positions from the next step on, instead of those led before; empty lists let go."""
        chosen = _meshes.indices(vertices, "vertices", len(self.positions))
        places = np.asarray(positions, dtype=np.float64).reshape(-1, 3) if not len(chosen) else positions
        self._simulated.hold(chosen, _meshes.points(places, "positions"))

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, by group. A copy: change them with `set`."""
        return json.loads(self._simulated.settings())

    def set(self, changes: Mapping[str, Any]) -> None:
        """Changes settings between steps: `{"time.step": 0.005}` or `{"time": {"step": 0.005}}`."""
        tree: dict[str, Any] = {}
        for path, value in changes.items():
            place = tree
            *way, last = path.removeprefix("settings.").split(".")
            for key in way:
                place = place.setdefault(key, {})
            place[last] = value
        self._simulated.set_settings(json.dumps(tree))

    @property
    def title(self) -> str:
        """What the scene shows."""
        return self._simulated.clock()[0]

    @property
    def frame(self) -> int:
        """Frames since the start."""
        return self._simulated.clock()[1]

    @property
    def last_frame(self) -> int:
        """The last frame of the scene; stepping goes on beyond it."""
        return self._simulated.clock()[2]

    @property
    def frame_rate(self) -> float:
        """Frames per second."""
        return self._simulated.clock()[3]

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._simulated.clock()[4]


def _toml(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
