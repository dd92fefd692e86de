"""From what people have (arrays, trimesh, pyvista, lists of them) to C-contiguous float64 points and int32 triangles.

Arrays that are so already are handed on as they are, without a copy; everything else is copied once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Mesh(NamedTuple):
    """A mesh as the engine borrows it."""

    name: str
    points: np.ndarray
    triangles: np.ndarray


def points(value: Any, what: str, columns: int = 3) -> np.ndarray:
    """Numbers in so many columns, as C-contiguous float64."""
    array = _array(value, what)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{what}: expected numbers, found {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{what}: expected shape (n, {columns}), found {array.shape}")
    return np.require(array, np.float64, ["C", "A"])


def triangles(value: Any, what: str) -> np.ndarray:
    """Rows of three vertex indices, as C-contiguous int32."""
    array = _array(value, what)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected whole numbers, found {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 3:
        hint = "; split quads into triangles first" if array.ndim == 2 and array.shape[1] == 4 else ""
        raise ValueError(f"{what}: expected shape (m, 3), found {array.shape}{hint}")
    if array.dtype != np.int32 and array.size:
        largest, smallest = int(array.max()), int(array.min())
        if largest > 2**31 - 1 or smallest < -(2**31):
            beyond = largest if largest > 2**31 - 1 else smallest
            raise ValueError(f"{what}: index {beyond} is beyond 32 bits; expected indices of vertices")
    return np.require(array, np.int32, ["C", "A"])


def indices(value: Any, what: str, count: int) -> list[int]:
    """Vertices, from a list of indices or a mask."""
    array = _array(value, what)
    if array.ndim != 1:
        raise ValueError(f"{what}: expected one row of vertex indices or a mask, found shape {array.shape}")
    if array.dtype == np.bool_:
        if len(array) != count:
            raise ValueError(f"{what}: a mask of {len(array)} for {count} vertices")
        return [int(index) for index in np.flatnonzero(array)]
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected whole numbers or a mask, found {array.dtype}")
    chosen = [int(index) for index in array]
    for index in chosen:
        if not 0 <= index < count:
            raise ValueError(f"{what}: there is no vertex {index}, the mesh has {count}")
    return chosen


def mesh(value: Any, faces: Any, name: str) -> Mesh:
    """One mesh: points with faces, a pair of them, or an object that has both."""
    if faces is None:
        value, faces = _split(value, name)
    own = Mesh(name, points(value, f"{name} V"), triangles(faces, f"{name} F"))
    if not len(own.points):
        raise ValueError(f"{name}: no vertices")
    return own


def meshes(value: Any, faces: Any, name: str) -> tuple[list[Mesh], bool]:
    """One mesh or several, and whether it was one."""
    if isinstance(value, (list, tuple)):
        if faces is None and not _is_pair(value):
            if not value:
                raise ValueError(f"{name}: an empty list; expected a mesh or a list of them")
            return [mesh(one, None, f"{name}{index}") for index, one in enumerate(value)], False
        if isinstance(faces, (list, tuple)) and len(faces) and np.ndim(faces[0]) == 2:
            if len(faces) != len(value):
                raise ValueError(f"{name}: {len(value)} arrays of points and {len(faces)} of triangles")
            pairs = enumerate(zip(value, faces, strict=True))
            return [mesh(own, corners, f"{name}{index}") for index, (own, corners) in pairs], False
    return [mesh(value, faces, name)], True


def bodies(value: Any) -> list[Mesh]:
    """Bodies: none, one or several."""
    return [] if value is None else meshes(value, None, "body")[0]


def panels(value: Any, own: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """A rest shape: points of the same triangles, or panels (two columns, metres) with triangles of their own."""
    what = f"{own.name} rest"
    if isinstance(value, tuple) and len(value) == 2:
        places, corners = value
        corners = triangles(corners, f"{what} triangles")
    elif hasattr(value, "vertices") or hasattr(value, "points"):
        places, corners = _split(value, what)
        corners = triangles(corners, f"{what} triangles")
    else:
        places, corners = value, own.triangles
    array = _array(places, what)
    columns = 2 if array.ndim == 2 and array.shape[1] == 2 else 3
    places = points(array, what, columns)
    if corners is own.triangles and len(places) != len(own.points):
        raise ValueError(f"{what}: {len(places)} rows, the garment has {len(own.points)} vertices")
    if len(corners) != len(own.triangles):
        raise ValueError(f"{what}: {len(corners)} triangles, the garment has {len(own.triangles)}")
    if corners.size and (int(corners.min()) < 0 or int(corners.max()) >= len(places)):
        raise ValueError(f"{what}: a triangle names vertex {int(corners.max())}, there are {len(places)}")
    return places, corners


def gap(value: Any, is_strict: bool) -> float | None:
    """A gap that is asked for, metres."""
    if value is None:
        if is_strict:
            raise ValueError("gap_strict: exempts no pair from the gap; give the gap too")
        return None
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("gap: expected metres, found a truth value")
    try:
        metres = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"gap: expected metres, found {value!r}") from None
    if not 0 < metres < np.inf:
        raise ValueError(f"gap: expected metres above 0, found {metres}")
    return metres


def edges(value: Any, what: str) -> np.ndarray:
    """Rows of two vertex indices, as C-contiguous int32; none without a value."""
    array = _array([] if value is None else value, what)
    if not array.size:
        return np.zeros((0, 2), np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected whole numbers, found {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{what}: expected shape (k, 2), found {array.shape}")
    if int(array.max()) > 2**31 - 1 or int(array.min()) < 0:
        raise ValueError(f"{what}: expected indices of vertices")
    return np.require(array, np.int32, ["C", "A"])


def per_garment(value: Any, count: int, is_one: bool, what: str) -> list[Any]:
    """One entry, or None, for each garment; for a single garment the value itself."""
    if is_one:
        return [value]
    if value is None:
        return [None] * count
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ValueError(f"{what}: expected a list with one entry, or None, for each of the {count} garments")
    return list(value)


def whole_number(value: Any, what: str) -> int:
    """A number without a fraction, not below 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what}: expected a whole number, found {value!r}")
    if not 0 <= value < 2**31:
        raise ValueError(f"{what}: {value} is out of range")
    return int(value)


def number(value: Any, what: str) -> float | None:
    """A number, or nothing."""
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: expected a number, found {value!r}") from None


def layers(value: Any) -> list[int]:
    """Places in an order, from the inside out; none without a value."""
    array = np.asarray([] if value is None else value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError("layers: expected one whole number for each garment")
    if array.size and (int(array.max()) > 2**31 - 1 or int(array.min()) < -(2**31)):
        raise ValueError("layers: a number beyond 32 bits")
    return [int(layer) for layer in array]


def seconds(value: Any) -> float:
    """A limit of time."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"max_seconds: expected a number, found {value!r}") from None
    if not seconds > 0:
        raise ValueError(f"max_seconds: expected seconds above 0, found {seconds}")
    return seconds


def _array(value: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: not an array: {str(error).splitlines()[0]}") from None


def _is_pair(value: Any) -> bool:
    """Whether (V, F) is meant: points with three columns, then whole numbers."""
    if len(value) != 2 or any(hasattr(one, "faces") or hasattr(one, "points") for one in value):
        return False
    return all(not isinstance(one, tuple) and np.ndim(one) == 2 for one in value)


def _split(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return value[0], value[1]
    if hasattr(value, "vertices") and hasattr(value, "faces"):
        return value.vertices, value.faces
    if hasattr(value, "points") and hasattr(value, "faces"):
        return value.points, _unpacked(value.faces, name)
    raise TypeError(
        f"{name}: expected points and triangles (V, F), or a mesh with .vertices and .faces or with .points and .faces; "
        f"found {type(value).__name__}"
    )


def _unpacked(faces: Any, name: str) -> Any:
    """pyvista keeps the number of corners before every face."""
    array = _array(faces, f"{name} faces")
    if array.ndim != 1:
        return array
    if array.size % 4 or np.any(array[::4] != 3):
        raise ValueError(f"{name} faces: not all are triangles; use mesh.triangulate() first")
    return array.reshape(-1, 4)[:, 1:]
