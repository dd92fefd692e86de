"""Compares continuous collision detection with Tight-Inclusion and broad phases with ipctk's, all in one run.

Narrow phase: one thread. Tight-Inclusion is called from Python once a query, so the cost of a call, measured on a query
whose answer needs no work, is subtracted from its time. Broad phase: two threads each, from positions to pair lists.
Truth is exact: closed elements touch at some time in [0, 1].
"""

import argparse
import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import ipctk
import numpy

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
OURS = ROOT / "target" / "release" / "ccd"
SCENES = [("armadillo-rollers", 326), ("cloth-funnel", 227)]
BROAD_ROUNDS = 5


def ours(*arguments):
    """Runs our program and returns the JSON of its last line; a miss ends the bench."""
    result = subprocess.run([OURS, *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"ccd {arguments}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def call_cost(detect):
    far = [numpy.array([float(k), 0.0, 10.0 * (k == 0)]) for k in range(4)] * 2
    clock = time.perf_counter()
    for _ in range(2000):
        detect(*far)
    return (time.perf_counter() - clock) / 2000


def peer(elements, queries):
    """Tight-Inclusion with default settings on queries (eight points, truth)."""
    inclusion = ipctk.TightInclusionCCD()
    detect = inclusion.point_triangle_ccd if elements == "vertex-triangle" else inclusion.edge_edge_ccd
    cost = call_cost(detect)
    clock = time.perf_counter()
    answers = [detect(*points)[0] for points, _ in queries]
    seconds = time.perf_counter() - clock - cost * len(queries)
    pairs = [(answer, truth) for answer, (_, truth) in zip(answers, queries)]
    return {
        "queries": len(queries),
        "misses": sum(1 for answer, truth in pairs if truth and not answer),
        "false_positives": sum(1 for answer, truth in pairs if answer and not truth),
        "seconds": max(seconds, 0.0),
    }


def recorded(elements):
    folder = "vertex-face" if elements == "vertex-triangle" else "edge-edge"
    queries = []
    for file in sorted((DATA / "ccd_sample_queries_mit").glob(f"*/{folder}/*.csv")):
        rows = [line.split(",") for line in file.read_text().splitlines()]
        points = [numpy.array([float(Fraction(int(r[k]), int(r[k + 1]))) for k in (0, 2, 4)]) for r in rows]
        queries += [(points[k : k + 8], rows[k][6].strip() == "1") for k in range(0, len(rows), 8)]
    return queries


def read_ply(path):
    """Positions and triangles of a little-endian file of doubles and triangles, as these scenes have."""
    content = path.read_bytes()
    header, body = content.split(b"end_header\n", 1)
    counts = [int(line.split()[2]) for line in header.splitlines() if line.startswith(b"element")]
    if b"binary_little_endian" not in header or b"property double x" not in header:
        sys.exit(f"{path}: expected a little-endian file of doubles")
    points = numpy.frombuffer(body, "<f8", 3 * counts[0]).reshape(-1, 3)
    face = numpy.dtype([("count", "u1"), ("corners", "<i4", 3)])
    return points, numpy.frombuffer(body, face, counts[1], points.nbytes)["corners"]


def frames(scene, number):
    folder = DATA / "scalable_ccd_apache2" / scene / "frames"
    (start, triangles), (end, _) = (read_ply(folder / f"{n}.ply") for n in (number, number + 1))
    return numpy.asfortranarray(start), numpy.asfortranarray(end), numpy.asfortranarray(triangles)


def listed(scene, number, elements, start, end, triangles):
    folder = DATA / "scalable_ccd_apache2" / scene
    suffix = "vf" if elements == "vertex-triangle" else "ee"
    pairs = json.loads((folder / "boxes" / f"{number}{suffix}.json").read_text())
    truths = json.loads((folder / "mma_bool" / f"{number}{suffix}_mma_bool.json").read_text())
    sides = {tuple(sorted((t[k], t[(k + 1) % 3]))) for t in triangles for k in range(3)}
    edges = sorted(sides, key=lambda edge: (edge[1], edge[0]))
    count = len(start)
    queries = []
    for (a, b), truth in zip(pairs, truths):
        a, b = min(a, b), max(a, b)
        ids = [a, *triangles[b - count - len(edges)]] if suffix == "vf" else [*edges[a - count], *edges[b - count]]
        queries.append(([start[k] for k in ids] + [end[k] for k in ids], truth))
    return queries


def narrow_row(name, mine, theirs, rows):
    speed = theirs["seconds"] / mine["seconds"]
    print(
        f"{name}: {mine['queries']} queries; misses {mine['misses']} (peer {theirs['misses']}), false positives "
        f"{mine['false_positives']} (peer {theirs['false_positives']}), {1e6 * mine['seconds'] / mine['queries']:.2f} us "
        f"a query (peer {1e6 * theirs['seconds'] / theirs['queries']:.2f}): {speed:.1f} times faster",
        flush=True,
    )
    rows.append({"name": name, "ours": mine, "peer": theirs, "times_faster": speed})


def narrow(rows):
    sets = ours("queries", DATA / "ccd_sample_queries_mit")["sets"]
    for mine in sets:
        narrow_row(f"recorded {mine['elements']}", mine, peer(mine["elements"], recorded(mine["elements"])), rows)
    for scene, number in SCENES:
        start, end, triangles = frames(scene, number)
        for mine in ours("frames", DATA / "scalable_ccd_apache2" / scene)["sets"]:
            queries = listed(scene, number, mine["elements"], start, end, triangles)
            narrow_row(f"{scene} {mine['elements']}", mine, peer(mine["elements"], queries), rows)


def whole_sets(rows):
    """All candidates of two frames at once: the peer looks for the first contact, we for every pair's."""
    ipctk.set_num_threads(1)
    for scene, number in SCENES:
        start, end, triangles = frames(scene, number)
        mesh = ipctk.CollisionMesh(start, ipctk.edges(triangles), triangles)
        candidates = ipctk.Candidates()
        candidates.build(mesh, start, end, 0.0, ipctk.LBVH())
        clock = time.perf_counter()
        step = candidates.compute_collision_free_stepsize(mesh, start, end, 0.0, ipctk.TightInclusionCCD())
        theirs = time.perf_counter() - clock
        folder = DATA / "scalable_ccd_apache2" / scene / "frames"
        mine = ours("broad", folder / f"{number}.ply", folder / f"{number + 1}.ply", 1)
        count = len(candidates.fv_candidates) + len(candidates.ee_candidates)
        print(
            f"{scene}, whole candidate set: {mine['pairs']} pairs in {1e3 * mine['narrow_seconds']:.0f} ms (peer {count} in "
            f"{1e3 * theirs:.0f} ms, first contact at {step:.3f}): {theirs / mine['narrow_seconds']:.1f} times faster",
            flush=True,
        )
        rows.append({"name": f"{scene} whole set", "ours": mine, "peer_seconds": theirs, "peer_pairs": count})


def broad(rows):
    ipctk.set_num_threads(2)
    for scene, number in SCENES:
        start, end, triangles = frames(scene, number)
        mesh = ipctk.CollisionMesh(start, ipctk.edges(triangles), triangles)
        times = {}
        for name in ("LBVH", "HashGrid", "SweepAndPrune", "SpatialHash"):
            make = getattr(ipctk, name)
            best = float("inf")
            for _ in range(BROAD_ROUNDS):
                candidates = ipctk.Candidates()
                method = make()
                clock = time.perf_counter()
                candidates.build(mesh, start, end, 0.0, method)
                best = min(best, time.perf_counter() - clock)
            times[name] = best
        fastest = min(times, key=times.get)
        folder = DATA / "scalable_ccd_apache2" / scene / "frames"
        mine = ours("broad", folder / f"{number}.ply", folder / f"{number + 1}.ply", 2)
        speed = times[fastest] / mine["built_seconds"]
        print(
            f"{scene}, broad phase: {mine['pairs']} pairs in {1e3 * mine['built_seconds']:.1f} ms, refitted "
            f"{1e3 * mine['refitted_seconds']:.1f} ms; peers "
            + ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in times.items())
            + f" ms: {speed:.1f} times faster than {fastest}",
            flush=True,
        )
        rows.append({"name": f"{scene} broad phase", "ours": mine, "peers": times, "times_faster": speed})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="narrow, whole, broad; all by default")
    parts = parser.parse_args().parts or ["narrow", "whole", "broad"]
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    rows = []
    for part, run in (("narrow", narrow), ("whole", whole_sets), ("broad", broad)):
        if part in parts:
            run(rows)
    out = ROOT / "out" / "bench_ccd.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"schema": "unsnarl.bench.ccd/1", "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
