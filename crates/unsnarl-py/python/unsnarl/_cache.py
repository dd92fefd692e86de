"""Caches of `unsnarl sim`, read as docs/cache.md describes them."""

from __future__ import annotations

import json
import pathlib
import struct
import zlib
from typing import Any

import numpy as np

_HEADER = "<8sIIII"
_ENTRY = "<16sIIQQII"
_KINDS: dict[int, np.dtype[Any]] = {1: np.dtype("<f8"), 2: np.dtype("<u4")}


class CacheError(ValueError):
    """One line on why a cache cannot be used."""


class Cache:
    """A folder that `unsnarl sim` wrote."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        try:
            self.info = json.loads((folder / "cache.json").read_text())
        except OSError as error:
            raise CacheError(f"{folder}: not a cache of unsnarl sim: cache.json: {error.strerror}") from None
        except ValueError:
            raise CacheError(f"{folder}: not a cache of unsnarl sim: cache.json is not JSON") from None
        if not isinstance(self.info, dict) or self.info.get("schema") != "unsnarl.cache/1":
            raise CacheError(f"{folder}: cache.json is not of schema unsnarl.cache/1")
        self.mesh = self._read("mesh.unsnarl")

    def frames(self) -> list[int]:
        """The frames that are there, in order."""
        found = sorted(int(path.stem[6:]) for path in self.folder.glob("frame_[0-9]*.unsnarl") if path.stem[6:].isdigit())
        return [frame for index, frame in enumerate(found) if frame == index]

    def positions(self, frame: int) -> np.ndarray:
        """Where cloth is shown at a frame."""
        arrays = self._read(f"frame_{frame:06}.unsnarl")
        return arrays.get("shown", arrays["positions"])

    def _read(self, name: str) -> dict[str, np.ndarray]:
        path = self.folder / name
        try:
            return _sections(path.read_bytes())
        except OSError as error:
            raise CacheError(f"{path}: cannot read: {error.strerror}") from None
        except (struct.error, KeyError, ValueError, IndexError):
            raise CacheError(f"{path}: damaged; simulate again with --resume") from None


def _sections(data: bytes) -> dict[str, np.ndarray]:
    magic, version, count, table_sum, _ = struct.unpack_from(_HEADER, data, 0)
    start, width = struct.calcsize(_HEADER), struct.calcsize(_ENTRY)
    table = data[start : start + width * count]
    if magic != b"UNSNARL\0" or version != 1 or zlib.crc32(table) != table_sum:
        raise ValueError
    arrays = {}
    for index in range(count):
        name, kind, columns, first, length, check, _ = struct.unpack_from(_ENTRY, table, width * index)
        section = data[first : first + length]
        if zlib.crc32(section) != check:
            raise ValueError
        arrays[name.rstrip(b"\0").decode()] = np.frombuffer(section, _KINDS[kind]).reshape(-1, columns)
    return arrays
