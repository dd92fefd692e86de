"""Caches as binary USD (`unsnarl[usd]`, by usd-core) and Alembic (`unsnarl[abc]`, by alembic3d).

    unsnarl export CACHE -o FILE.usdc|.usd|.usdz|.abc [--first N] [--last N] [--every N]

Points are 32-bit floats, as both formats hold them. A file is written beside its target and renamed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator

import numpy as np

from ._cache import Cache, CacheError

_EXTRAS = {".abc": ("abc", "alembic3d"), ".usdc": ("usd", "usd-core"), ".usd": ("usd", "usd-core"), ".usdz": ("usd", "usd-core")}


class ExportError(ValueError):
    """One line on why nothing was written."""


def export(
    cache: str | os.PathLike[str],
    target: str | os.PathLike[str],
    first: int = 0,
    last: int | None = None,
    every: int = 1,
) -> int:
    """Writes a cache as the target's ending asks for; gives the number of frames."""
    path = pathlib.Path(target)
    ending = path.suffix.lower()
    if ending not in _EXTRAS:
        raise ExportError(f"{path}: expected a name that ends in .usdc, .usd, .usdz or .abc")
    if every < 1 or first < 0:
        raise ExportError("--every counts from 1 and --first from 0")
    source = Cache(pathlib.Path(cache))
    there = source.frames()
    frames = [frame for frame in there if frame >= first and (last is None or frame <= last)][::every]
    if not frames:
        raise ExportError(f"{path}: no frame from {first} to {last}; the cache ends at {there[-1] if there else 0}")
    write = _write_alembic if ending == ".abc" else _write_usd
    with _beside(path) as beside:
        write(source, beside, frames)
    return len(frames)


def _write_usd(source: Cache, target: pathlib.Path, frames: list[int]) -> None:
    try:
        from pxr import Gf, Sdf, Usd, UsdGeom, Vt  # type: ignore
    except ImportError:
        raise _missing(target) from None
    is_package = target.suffix.lower() == ".usdz"
    layer = target.with_suffix(".usdc") if is_package else target
    stage = Usd.Stage.CreateNew(str(layer))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    stage.SetStartTimeCode(frames[0])
    stage.SetEndTimeCode(frames[-1])
    stage.SetTimeCodesPerSecond(source.info["frame_rate"])
    stage.SetFramesPerSecond(source.info["frame_rate"])
    root = UsdGeom.Xform.Define(stage, "/cloth")
    stage.SetDefaultPrim(root.GetPrim())
    meshes = []
    for index, (name, rows, triangles) in enumerate(_pieces(source)):
        mesh = UsdGeom.Mesh.Define(stage, f"/cloth/piece{index}_{_identifier(name)}")
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(triangles), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(triangles.reshape(-1)))
        if (uv := source.mesh.get(f"uv{index}")) is not None:
            kind, how = Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying
            st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", kind, how)
            st.Set(Vt.Vec2fArray.FromNumpy(uv.astype(np.float32)))
            corners = source.mesh[f"uv{index}_triangles"].astype(np.int32).reshape(-1)
            st.SetIndices(Vt.IntArray.FromNumpy(corners))
        meshes.append((mesh.CreatePointsAttr(), mesh.CreateExtentAttr(), rows))
    for frame in frames:
        positions = source.positions(frame).astype(np.float32)
        for points, extent, rows in meshes:
            own = positions[rows]
            points.Set(Vt.Vec3fArray.FromNumpy(own), frame)
            ends = [Gf.Vec3f(*map(float, end)) for end in (own.min(axis=0), own.max(axis=0))] if len(own) else []
            extent.Set(Vt.Vec3fArray(ends), frame)
    stage.GetRootLayer().Save()
    if is_package:
        del stage
        writer = getattr(Sdf, "ZipFileWriter", None) or Usd.ZipFileWriter
        with writer.CreateNew(str(target)) as package:
            package.AddFile(str(layer), "cloth.usdc")
        layer.unlink()


def _write_alembic(source: Cache, target: pathlib.Path, frames: list[int]) -> None:
    try:
        import imath  # type: ignore
        from alembic3d import Abc, AbcCoreAbstract, AbcGeom  # type: ignore
    except ImportError:
        raise _missing(target) from None
    rate = float(source.info["frame_rate"])
    archive = Abc.OArchive(str(target))
    step = (frames[1] - frames[0]) / rate if len(frames) > 1 else 1.0 / rate
    sampling = archive.addTimeSampling(AbcCoreAbstract.TimeSampling(step, frames[0] / rate))
    schemas = []
    for index, (name, rows, triangles) in enumerate(_pieces(source)):
        mesh = AbcGeom.OPolyMesh(archive.getTop(), f"piece{index}_{_identifier(name)}", sampling)
        # Alembic winds faces clockwise.
        corners = imath.IntArrayFromBuffer(np.ascontiguousarray(triangles[:, ::-1]).reshape(-1))
        counts = imath.IntArrayFromBuffer(np.full(len(triangles), 3, np.int32))
        schemas.append((mesh, mesh.getSchema(), rows, corners, counts))
    for frame in frames:
        positions = source.positions(frame).astype(np.float32)
        for _, schema, rows, corners, counts in schemas:
            points = imath.V3fArrayFromBuffer(np.ascontiguousarray(positions[rows]))
            schema.set(AbcGeom.OPolyMeshSchemaSample(points, corners, counts))
    # The archive is finished when nothing refers to it.
    del schema, schemas, mesh, archive


def _pieces(source: Cache) -> Iterator[tuple[str, slice, np.ndarray]]:
    """Name, rows and own triangles of every piece."""
    triangles = source.mesh["triangles"]
    for piece in source.info["pieces"]:
        first, count = piece["vertices"]
        begin, length = piece["triangles"]
        own = triangles[begin : begin + length].astype(np.int64) - first
        yield piece["name"], slice(first, first + count), own.astype(np.int32)


def _identifier(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)


def _missing(target: pathlib.Path) -> ExportError:
    extra, package = _EXTRAS[target.suffix.lower()]
    return ExportError(f"writing {target.suffix} needs {package}: pip install 'unsnarl[{extra}]', or choose .usda or .glb")


@contextlib.contextmanager
def _beside(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder beside the target; what was written there takes the target's place at the end."""
    try:
        with tempfile.TemporaryDirectory(prefix=".unsnarl-", dir=target.parent) as folder:
            inner = pathlib.Path(folder) / target.name
            yield inner
            umask = os.umask(0)
            os.umask(umask)
            inner.chmod(0o666 & ~umask)
            inner.replace(target)
    except OSError as error:
        raise ExportError(f"{target}: cannot write: {error.strerror or error}") from None


def command(arguments: list[str], ending: str) -> int:
    """`unsnarl export` for the kinds of files that Python packages write; gives the exit status."""
    parser = argparse.ArgumentParser(prog="unsnarl export", description=f"Export a cache as {ending}")
    parser.add_argument("cache", metavar="CACHE", help="the folder that `unsnarl sim` wrote")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--first", type=int, default=0, metavar="FRAME")
    parser.add_argument("--last", type=int, metavar="FRAME")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--json", metavar="PATH", help="write a machine-readable report here (`-`: standard output)")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    flags = parser.parse_args([word for word in arguments if word != "export"])
    try:
        count = export(flags.cache, flags.output, flags.first, flags.last, flags.every)
        vertices = Cache(pathlib.Path(flags.cache)).info["vertices"]
        report = {"schema": "unsnarl.export/1", "file": flags.output, "frames": count, "vertices": vertices}
        if flags.json == "-":
            print(json.dumps(report, indent=2))
        elif flags.json:
            pathlib.Path(flags.json).write_text(json.dumps(report, indent=2) + "\n")
    except (ExportError, CacheError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not flags.quiet and flags.json != "-":
        print(f"{flags.output}: {count} frames")
    return 0
