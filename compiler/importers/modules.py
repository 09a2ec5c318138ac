"""The modules that a framework's nodes were written in, as paths: `encoder/layer.0/attention`.

They are names for people: nothing is computed by them. A path is made of plain names, whatever the file says.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from compiler.importers.names import NOT_IN_NAMES

_MOST_LEVELS, _MOST_LETTERS = 24, 80


def module_path(parts: Iterable[str]) -> str:
    """A path of modules, outermost first; empty parts are left out."""
    plain = (NOT_IN_NAMES.sub("_", part)[:_MOST_LETTERS] for part in parts)
    return "/".join([part for part in plain if part][:_MOST_LEVELS])


def module_of_name(name: str) -> str:
    """The module of an ONNX node by its name: exporters write `/encoder/layer.0/attention/MatMul`."""
    around = name.rpartition("/")[0]
    return _path(around) if around else ""


@lru_cache(4096)  # the nodes of a module come one after the other
def _path(text: str) -> str:
    return module_path(text.split("/"))


def module_of_stack(paths: Iterable[str]) -> str:
    """The module of a PyTorch call by the modules around it, each with its whole path: `encoder`, `encoder.layer.0`."""
    parts, before = [], ""
    for path in paths:
        parts.append(path.removeprefix(f"{before}.") if before else path)
        before = path
    return module_path(parts)
