"""What a cache shows about cloth that bodies pinch: speeds at rest and around the pinch, and what meets after release."""

import json
import pathlib

import ipctk
import numpy

from cache_file import read

def meets(cache, frame):
    """Whether cloth meets cloth at a frame, by ipctk."""
    faces = read(cache / "mesh.unsnarl")["triangles"].astype(int)
    points = read(cache / f"frame_{frame:06}.unsnarl")["positions"]
    return ipctk.has_intersections(ipctk.CollisionMesh(points, ipctk.edges(faces), faces), points)


RINGS = 3
"""Rings of vertices around a pinch that count as its surroundings."""


class Frames:
    """All frames of a cache."""

    def __init__(self, cache):
        self.cache = pathlib.Path(cache)
        self.step = 1.0 / json.loads((self.cache / "cache.json").read_text())["frame_rate"]
        mesh = read(self.cache / "mesh.unsnarl")
        self.cloth = mesh["triangles"].astype(int)
        self.body = mesh["body_triangles"].astype(int)
        names = sorted(path.name for path in self.cache.glob("frame_*.unsnarl"))
        self.positions = [read(self.cache / name)["positions"] for name in names]
        bodies = [read(self.cache / name.replace("frame_", "bodies_")) for name in names]
        self.surfaces = [frame["body_positions"] for frame in bodies]
        self.pinched = [set(frame["pinched"].ravel().tolist()) if "pinched" in frame else set() for frame in bodies]
        self.neighbours = [set() for _ in range(len(self.positions[0]))]
        for triangle in self.cloth.tolist():
            for corner in triangle:
                self.neighbours[corner].update(triangle)

    def speeds(self, frame):
        """Speed of every cloth vertex from the frame before to this one, m/s."""
        return numpy.linalg.norm(self.positions[frame] - self.positions[frame - 1], axis=1) / self.step

    def body_speed(self, frame):
        """Speed of the fastest vertex of the bodies, m/s."""
        return numpy.linalg.norm(self.surfaces[frame] - self.surfaces[frame - 1], axis=1).max() / self.step

    def around(self, vertices):
        """Some vertices and all within RINGS rings of them."""
        seen = set(vertices)
        for _ in range(RINGS):
            seen |= set().union(*(self.neighbours[vertex] for vertex in seen)) if seen else set()
        return seen

    def crossings(self, frame):
        """Edges through triangles, cloth with cloth or with a body, by ipctk; bodies among themselves do not count."""
        count = len(self.positions[frame])
        faces = numpy.asfortranarray(numpy.vstack([self.cloth, self.body + count]), dtype=numpy.int32)
        points = numpy.asfortranarray(numpy.vstack([self.positions[frame], self.surfaces[frame]]))
        edges = numpy.asfortranarray(ipctk.edges(faces), dtype=numpy.int32)
        tree = ipctk.LBVH()
        tree.build(points, edges, faces)
        found = 0
        for candidate in tree.detect_edge_face_candidates():
            edge, face = edges[candidate.edge_id], faces[candidate.face_id]
            of_bodies = edge[0] >= count and face[0] >= count
            if not of_bodies and not set(edge) & set(face):
                found += ipctk.is_edge_intersecting_triangle(*points[edge], *points[face])
        return found


def shared_motion(cache, frames_of_motion):
    """The median of the speed of cloth that stays pinched, as a part of the speed of the fastest body, from a first frame to a last one."""
    frames = Frames(cache)
    shares = []
    for frame in range(frames_of_motion[0] + 1, frames_of_motion[1] + 1):
        held = sorted(frames.pinched[frame] & frames.pinched[frame - 1])
        shares.extend(frames.speeds(frame)[held] / frames.body_speed(frame))
    return float(numpy.median(shares))


def judge(cache, rest, release, like=None):
    """The bars: `rest` is the first and last frame at which the bodies stand still, `release` the frame of release.

    A run without flypapering knows no pinched vertices: it is judged by those of another run, `like`.
    """
    frames = Frames(cache)
    if like:
        frames.pinched = Frames(like).pinched
    last = len(frames.positions) - 1
    result = {"most_pinched": max(len(pinched) for pinched in frames.pinched)}
    at_rest = 0.0
    for frame in range(rest[0] + 1, min(rest[1], last) + 1):
        held = sorted(frames.pinched[frame] & frames.pinched[frame - 1])
        if held:
            at_rest = max(at_rest, frames.speeds(frame)[held].max())
    result["fastest_at_rest"] = at_rest
    history = max(1, round(0.25 / frames.step))
    worst = (-numpy.inf, 0, 0.0, 0.0)
    for frame in range(1, last + 1):
        near = sorted(frames.around(frames.pinched[frame]))
        if near:
            peak = max(frames.body_speed(k) for k in range(max(1, frame - history + 1), frame + 1))
            speed = frames.speeds(frame)[near].max()
            worst = max(worst, (speed - (2.0 * peak + 0.1), frame, speed, peak))
    result["worst_excess"], result["worst_frame"], result["worst_speed"], result["body_peak"] = worst
    result["checked_frame"] = min(release + 24, last)
    result["crossings"] = frames.crossings(result["checked_frame"])
    return result
