"""Every bar of `unsnarl fix` on animations, met or missed. `benches/animation` runs it; see there for flags."""

import argparse
import filecmp
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import ipctk
import numpy as np
from scipy.spatial import cKDTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/support"))
from cache_file import read  # noqa: E402
from obj_file import read_obj  # noqa: E402

PROGRAM = str(ROOT / "target/release/unsnarl")
CLOTHES = ROOT / "assets/character_cc0/clothes_fitted"
BODY = ROOT / "assets/character_cc0/body.glb"
# Garment, clip: a sports suit and a suit of shirt and trousers, on a character that walks off and one that sits down.
RUNS = {
    "shirt_walking": ("female_sportsuit01", "run01"),
    "shirt_sitting": ("female_sportsuit01", "sit01"),
    "suit_walking": ("male_casualsuit02", "run01"),
    "suit_sitting": ("male_casualsuit02", "sit01"),
}
# A clip at so many frames; the cloth is far away, so that only the body's poses matter.
SCENE = """
[scene]
frames = {last}
frame-rate = 24
[collision]
method = "solids"
[[cloth]]
sheet = {{ size = [0.1, 0.1], cells = [2, 2] }}
position = [0, 9, 0]
pin = [{{ vertices = [0, 1, 2] }}]
[[body]]
mesh = "{body}"
clip = "{clip}"
clip-speed = {speed}
"""
# Body triangles that a vertex of cloth follows.
FOLLOWED = 12
missed = []


def bar(name, value, is_met):
    print(f"{'met   ' if is_met else 'MISSED'} | {name} | {value}", flush=True)
    if not is_met:
        missed.append(name)


def run(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done


def cpu(*words):
    """Processor seconds of a command, and its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(*words, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def axes_of(points, faces):
    """Axes and centres of triangles."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    unit = lambda rows: rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    along, normal = unit(b - a), unit(np.cross(b - a, c - a))
    return np.stack([along, np.cross(normal, along), normal], axis=2), (a + b + c) / 3


def posed(name, frames, keep):
    """The frames of a run as OBJ, cloth alone: it follows the triangles of the body that it is nearest to at rest, through itself."""
    folder = keep / f"{name}_{frames}"
    if folder.is_dir():
        return folder
    garment, clip = RUNS[name]
    cache = keep / f"{clip}_{frames}_cache"
    if not cache.is_dir():
        scene = keep / f"{clip}.toml"
        scene.write_text(SCENE.format(last=frames - 1, body=BODY, clip=clip, speed=2.5 * 24 / frames))
        run(PROGRAM, "-q", "sim", scene, "-o", cache)
    points, faces = read_obj(CLOTHES / f"{garment}.obj")
    body_faces = read(cache / "mesh.unsnarl")["body_triangles"].astype(int)
    rest = read_obj(ROOT / "assets/character_cc0/body_rest.obj")[0]
    axes, centers = axes_of(np.asarray(rest), body_faces)
    distances, followed = cKDTree(centers).query(points, k=FOLLOWED)
    weights = 1.0 / (distances + 1e-3) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    local = np.einsum("vkji,vkj->vki", axes[followed], points[:, None] - centers[followed])
    part = folder.with_suffix(".part")
    part.mkdir()
    for frame in range(frames):
        axes, centers = axes_of(read(cache / f"bodies_{frame:06}.unsnarl")["body_positions"], body_faces)
        moved = np.einsum("vkij,vkj->vki", axes[followed], local) + centers[followed]
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.einsum("vk,vki->vi", weights, moved).tolist()]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in np.asarray(faces).tolist()]
        (part / f"cloth_{frame:04}.obj").write_text("\n".join(lines) + "\n")
    part.rename(folder)
    return folder


def meets(path):
    points, faces = read_obj(path)
    faces = np.asarray(faces)
    return ipctk.has_intersections(ipctk.CollisionMesh(points, ipctk.edges(faces), faces), points)


def animation(name, flags, keep, folder):
    source = posed(name, flags.frames, keep)
    paths = sorted(source.glob("*.obj"))
    target = folder / name
    seconds, done = cpu(PROGRAM, "--threads", 2, "fix", source, "-o", target, "--json", folder / "report.json")
    if done.returncode == 2:
        bar(f"animation {name}", done.stderr.strip(), False)
        return
    report = json.loads((folder / "report.json").read_text())
    tangled = report["frames_tangled_before"]
    told = f"{len(paths)} frames, {tangled} tangled before, {report['frames_not_clean']} not clean by our verdict"
    if report["written"]:
        dirty = [path.name for path in sorted(target.glob("*.obj")) if meets(path)]
        told += f"; {len(dirty)} dirty by ipctk"
        bar(f"clean, {name}", told, report["clean"] and not dirty)
    else:
        bar(f"clean, {name}", told, False)
    change = 1e3 * report["largest_change"]
    bar(f"flicker, {name}", f"corrections change by at most {change:.2f} mm a frame (2)", change <= 2.0)
    every = max(1, len(paths) // flags.alone)
    chosen = paths[::every]
    alone = sum(cpu(PROGRAM, "-q", "--threads", 2, "fix", path, "-o", folder / "alone.obj")[0] for path in chosen)
    ratio = (seconds / len(paths)) / (alone / len(chosen))
    bar(f"time, {name}",
        f"{seconds / len(paths):.3f} s of processor time a frame, {alone / len(chosen):.3f} alone (every {every}th): {ratio:.2f} (1.5)", ratio <= 1.5)


def same(first, second):
    names = sorted(path.name for path in first.iterdir())
    return names == sorted(path.name for path in second.iterdir()) and not any(filecmp.cmpfiles(first, second, names, shallow=False)[1:])


def kills(flags, keep, folder):
    name = next(iter(RUNS))
    source = posed(name, flags.frames, keep)
    whole = folder / "whole"
    begun = time.perf_counter()
    run(PROGRAM, "-q", "--threads", 2, "fix", source, "-o", whole, "--keep-partial", check=False)
    whole_time = time.perf_counter() - begun
    run(PROGRAM, "-q", "--threads", 1, "fix", source, "-o", folder / "one", "--keep-partial", check=False)
    bar("1 and 2 threads", "bit-equal" if same(whole, folder / "one") else "different", same(whole, folder / "one"))
    random.seed(1)
    count, wrong = 0, 0
    while count < flags.kills:
        target = folder / f"broken{count}"
        command = [PROGRAM, "-q", "fix", str(source), "-o", str(target), "--keep-partial", "--resume"]
        while True:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                child.wait(timeout=random.uniform(0.02, 0.5 * whole_time))
                break
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                count += 1
        wrong += not same(whole, target)
    bar("kills", f"{count} kills, {wrong} runs that ended otherwise", wrong == 0)


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--frames", type=int, default=120)
    flags.add_argument("--alone", type=int, default=20, help="about so many frames are fixed alone, for their time")
    flags.add_argument("--kills", type=int, default=20)
    flags.add_argument("--keep", type=pathlib.Path, help="folder with posed frames, made where they are missing")
    flags.add_argument("--only", help="the name of a run, or kills")
    flags = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        keep = flags.keep or folder / "sims"
        keep.mkdir(exist_ok=True, parents=True)
        for name in RUNS:
            if flags.only in (None, name):
                animation(name, flags, keep, folder)
        if flags.only in (None, "kills"):
            kills(flags, keep, folder)
    print(f"{len(missed)} bars missed" + (": " + "; ".join(missed) if missed else ""))


main()
