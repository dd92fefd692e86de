"""Reads the files of a cache; see docs/cache.md."""

import struct
import zlib

import numpy


def read(path):
    """The sections of a cache file; see docs/cache.md."""
    data = path.read_bytes()
    magic, version, count, check, _ = struct.unpack_from("<8sIIII", data)
    assert magic == b"UNSNARL\0" and version == 1 and zlib.crc32(data[24:24 + 48 * count]) == check, path
    arrays = {}
    for k in range(count):
        name, kind, width, start, length, check, _ = struct.unpack_from("<16sIIQQII", data, 24 + 48 * k)
        assert zlib.crc32(data[start:start + length]) == check, path
        numbers = numpy.frombuffer(data, dtype="<f8" if kind == 1 else "<u4", count=length // (8 if kind == 1 else 4), offset=start)
        arrays[name.rstrip(b"\0").decode()] = numbers.reshape(-1, width)
    return arrays
