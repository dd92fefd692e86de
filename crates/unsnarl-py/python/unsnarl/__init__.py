"""Finds where cloth passes through cloth, through itself and through bodies, and untangles it.

>>> report = unsnarl.check(V, F)          # arrays, or a trimesh or pyvista mesh
>>> result = unsnarl.fix(V, F, body=(VB, FB))
>>> result.clean, result.V

Lengths are metres. Positions are exact input: a verdict holds for these very numbers. See docs/python.md.
"""

from ._check import CheckReport, check
from ._fix import FixResult, Progress, fix
from ._level_set import LevelSet
from ._scene import Scene

__version__ = "0.1.0"
__all__ = ["CheckReport", "FixResult", "LevelSet", "Progress", "Scene", "check", "fix"]
