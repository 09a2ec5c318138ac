"""Layouts of opaque types, computed by their `@opaque` definitions from the parameters of the type.

@opaque("table") def table(*, slots, value=f32): return struct(keys=i64[slots], values=value[slots], count=i64)
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.graph.opaque import Layout, laid_out
from compiler.graph.types import OpaqueType
from compiler.language.interpreter import at_compile_time
from compiler.language.syntax.calls import inline, layout_of
from compiler.language.syntax.functions import Generator
from compiler.language.values.dtypes import LANGUAGE_DTYPES


def computed_layout(function: Generator, find: Callable[[str], Generator | None], kind: OpaqueType) -> Layout:
    """How a value of this type is laid out in memory."""
    given = {
        name: LANGUAGE_DTYPES[value] if isinstance(value, str) and value in LANGUAGE_DTYPES else value
        for name, value in kind.params
    }
    value, calls = "a layout is a compile-time value", "a layout calls only @inline functions"
    with at_compile_time(function.file, function.line, value=value, calls=calls, find=find) as run:
        fields = layout_of(function, inline(run, function, [], given, None))
    return laid_out(kind, fields)
