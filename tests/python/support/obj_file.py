"""Reads the positions and triangles of OBJ files."""

import numpy as np


def read_obj(path):
    """Positions and triangles of an OBJ file; polygons are cut into fans from their first corner."""
    positions, triangles = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            positions.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(positions) + corner for corner in corners]
            triangles += [[corners[0], a, b] for a, b in zip(corners[1:], corners[2:])]
    return np.array(positions), np.array(triangles)
