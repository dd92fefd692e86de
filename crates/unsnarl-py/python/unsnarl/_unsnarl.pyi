"""The engine, as the package's Python side calls it. Use `unsnarl` itself: arrays are brought into form there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

from numpy import float64, int32, uint8
from numpy.typing import NDArray

__all__ = ["Levels", "Simulated", "addresses", "check", "command", "dress", "fix", "refine", "tetrahedralize", "trim"]

_Points: TypeAlias = NDArray[float64]
_Triangles: TypeAlias = NDArray[int32]
_Mesh: TypeAlias = tuple[str, _Points, _Triangles]
_Garment: TypeAlias = tuple[_Mesh, tuple[_Points, _Triangles] | None, list[int]]

def check(
    garments: Sequence[_Mesh], bodies: Sequence[_Mesh], wishes: Mapping[str, Any], threads: int | None
) -> tuple[str, NDArray[int32]]:
    """Looks for everything that meets: the report as JSON, and the pairs of triangles."""

def addresses(mesh: _Mesh) -> tuple[int, int]:
    """Where points and triangles of a mesh are in memory, as the engine reads them."""

def fix(
    garments: Sequence[_Garment],
    bodies: Sequence[_Mesh],
    wishes: Mapping[str, Any],
    on_step: Callable[[int, int, int, _Points], Any] | None,
    threads: int | None,
) -> tuple[list[_Points], str]:
    """Untangles garments: their positions, and the report as JSON."""

def dress(
    garments: Sequence[_Garment], bodies: Sequence[_Mesh], wishes: Mapping[str, Any], threads: int | None
) -> tuple[list[_Points], str]:
    """Puts garments in order: their positions, and the report as JSON."""

def refine(
    garments: Sequence[tuple[_Mesh, NDArray[int32]]],
    bodies: Sequence[_Mesh],
    wishes: Mapping[str, Any],
    threads: int | None,
) -> tuple[list[tuple[_Points, _Triangles, _Points]], str]:
    """Refines garments: points, triangles and normals of each, and the report as JSON."""

def tetrahedralize(
    body: Levels | _Mesh, wishes: Mapping[str, Any], threads: int | None
) -> tuple[_Points, NDArray[int32], NDArray[uint8], _Triangles, str]:
    """Fills a body: nodes, tetrahedra, their levels, triangles of the boundary, and the report as JSON."""

def trim(
    mesh: _Mesh, by: Levels | _Mesh, wishes: Mapping[str, Any], threads: int | None
) -> tuple[_Points, _Triangles, NDArray[int32], NDArray[int32], str]:
    """Cuts a surface: points, triangles, vertices of the input, edges of the new border, and the report as JSON."""

def command(arguments: list[str]) -> int:
    """Runs the command with its arguments, the name of the program first; gives the exit status."""

@final
class Simulated:
    """A scene under way."""

    @staticmethod
    def load(path: str, changes: list[str]) -> Simulated:
        """Reads a scene file; `changes` are `path=value` as `--set` takes them."""

    def advance(self, duration: float | None, threads: int | None) -> str:
        """Goes on by a duration in seconds, or by a frame; gives the report as JSON."""

    def positions(self) -> _Points:
        """Where cloth is."""

    def velocities(self) -> _Points:
        """How fast cloth moves."""

    def set_positions(self, positions: _Points) -> None:
        """Lays cloth elsewhere; it keeps its velocities."""

    def triangles(self) -> _Triangles:
        """The triangles of the cloth."""

    def pieces(self) -> list[tuple[str, list[int], list[int]]]:
        """Name, first vertex and end, first triangle and end, of every piece."""

    def bodies(self) -> list[tuple[str, _Points, _Triangles]]:
        """Name, points and triangles of every body at the present time."""

    def clock(self) -> tuple[str, int, int, float, float]:
        """Title, frame, last frame, frames per second, seconds."""

    def pins(self) -> list[int]:
        """Vertices that stay where they are."""

    def set_pins(self, pins: list[int]) -> None:
        """Pins other vertices, where they are."""

    def hold(self, led: list[int], places: _Points) -> None:
        """Leads vertices to places from the next step on; without any, lets go of all that were led so."""

    def settings(self) -> str:
        """All settings as JSON."""

    def set_settings(self, changes: str) -> None:
        """Changes settings: JSON with the groups and names that differ."""

@final
class Levels:
    """A level set that does not change."""

    @staticmethod
    def from_mesh(mesh: _Mesh, spacing: float | None, resolution: int, threads: int | None) -> Levels:
        """From a closed mesh."""

    @staticmethod
    def load(path: str) -> Levels:
        """From a file of `unsnarl levelset`."""

    def save(self, path: str) -> None:
        """Writes a file of `unsnarl levelset`."""

    def query(self, points: _Points, threads: int | None) -> tuple[NDArray[float64], _Points]:
        """Signed distances and gradients at points."""

    def closest(self, points: _Points, threads: int | None) -> _Points:
        """The nearest points of the surface, as far as it is found; rows of NaN elsewhere."""

    def to_mesh(self, method: str, threads: int | None) -> tuple[_Points, _Triangles]:
        """Points and triangles of the surface."""

    def combine(self, other: Levels, operation: str, blend: float) -> Levels:
        """A new one from two."""

    def facts(self) -> tuple[float, float, int]:
        """Spacing, half the width of the band, bytes."""
