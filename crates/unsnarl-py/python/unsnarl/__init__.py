"""Finds where cloth passes through cloth, through itself and through bodies, and untangles it.

>>> report = unsnarl.check(V, F)          # arrays, or a trimesh or pyvista mesh
>>> result = unsnarl.fix(V, F, body=(VB, FB))
>>> result.clean, result.V

Lengths are metres. Positions are exact input: a verdict holds for these very numbers. See docs/python.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._check import CheckReport, check
    from ._dress import DressResult, dress
    from ._fix import FixResult, Progress, fix
    from ._level_set import LevelSet
    from ._refine import RefineResult, refine
    from ._scene import Scene
    from ._volumes import TetMesh, TrimResult, tetrahedralize, trim

__version__ = "0.1.0"
__all__ = [
    "CheckReport",
    "DressResult",
    "FixResult",
    "LevelSet",
    "Progress",
    "RefineResult",
    "Scene",
    "TetMesh",
    "TrimResult",
    "check",
    "dress",
    "fix",
    "refine",
    "tetrahedralize",
    "trim",
]

# Loaded when they are first used: the command starts without numpy.
_HOMES = {
    "CheckReport": "._check",
    "check": "._check",
    "DressResult": "._dress",
    "dress": "._dress",
    "FixResult": "._fix",
    "Progress": "._fix",
    "fix": "._fix",
    "LevelSet": "._level_set",
    "RefineResult": "._refine",
    "refine": "._refine",
    "Scene": "._scene",
    "TetMesh": "._volumes",
    "TrimResult": "._volumes",
    "tetrahedralize": "._volumes",
    "trim": "._volumes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unsnarl' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
