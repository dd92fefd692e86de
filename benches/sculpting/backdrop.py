"""A picture to lay a sculpture over: a wooden table before a wall, with the grain and the soft edges of a photograph.

Usage: backdrop.py OUT.png WIDTH HEIGHT. Python's own library only.
"""

import math
import struct
import sys
import zlib


def noise(x, y, seed):
    n = (x * 374761393 + y * 668265263 + seed * 2147483647) & 0xFFFFFFFF
    n = ((n ^ (n >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((n ^ (n >> 16)) & 0xFFFF) / 65535.0


def smooth(x, y, seed):
    i, j = math.floor(x), math.floor(y)
    u, v = x - i, y - j
    u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    a = noise(i, j, seed) + u * (noise(i + 1, j, seed) - noise(i, j, seed))
    b = noise(i, j + 1, seed) + u * (noise(i + 1, j + 1, seed) - noise(i, j + 1, seed))
    return a + v * (b - a)


def pixel(x, y, width, height):
    u, v = x / width, y / height
    horizon = 0.64
    if v < horizon:
        glow = math.exp(-((u - 0.28) ** 2 / 0.12 + (v - 0.2) ** 2 / 0.25))
        grain = 0.02 * (smooth(u * 40, v * 40, 1) - 0.5)
        base = 0.36 + 0.30 * glow + grain
        colour = [base * 0.98, base * 1.0, base * 1.04]
    else:
        depth = 0.34 / (v - horizon + 0.03)
        across = (u - 0.5) * depth
        plank = math.floor(across * 1.1 + 100)
        rings = smooth(across * 9 + 3 * smooth(depth * 1.5, plank * 7.0, 3), depth * 0.7, 2 + plank)
        fine = smooth(across * 120, depth * 3, 5)
        tone = 0.62 + 0.25 * rings + 0.08 * fine - 0.10 * noise(plank, 0, 9)
        seam = abs(across * 1.1 + 100 - plank)
        tone *= 0.72 if seam < 0.012 * depth or seam > 1 - 0.012 * depth else 1.0
        light = 0.75 + 0.35 * math.exp(-((u - 0.4) ** 2) / 0.3)
        colour = [0.66 * tone * light, 0.46 * tone * light, 0.30 * tone * light]
    soft = min(1.0, max(0.0, abs(v - horizon) / 0.006))
    colour = [c * (0.75 + 0.25 * soft) for c in colour]
    vignette = 1 - 0.35 * ((u - 0.5) ** 2 + (v - 0.5) ** 2) * 2
    film = 0.015 * (noise(x, y, 7) - 0.5)
    return bytes(max(0, min(255, round(255 * (c * vignette + film)))) for c in colour)


def main():
    out, width, height = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rows = b"".join(b"\0" + b"".join(pixel(x, y, width, height) for x in range(width)) for y in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(out, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


main()
