"""What each op means, in plain NumPy: the truth the compiled kernels are checked against.

One small file a family; `REFERENCES` holds them all by op name, and `reference` walks a graph with them. Written for
accuracy, not speed: where a kernel and its reference differ, the reference should be the closer one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from compiler.reference.walk import REFERENCES, reference

if TYPE_CHECKING:
    from compiler.graph.graph import Graph

__all__ = ["REFERENCES", "reference"]


class _Callable(ModuleType):
    """The public surface has a function `compiler.reference`; importing this package would hide it under that name.

    So calling the package is calling the function, and both spellings work in any order of imports.
    """

    def __call__(self, graph: Graph, *arrays: np.ndarray) -> list[np.ndarray]:
        return reference(graph, *arrays)


sys.modules[__name__].__class__ = _Callable
