"""Builtin functions of `@opaque` definitions."""

from __future__ import annotations

from typing import Any

from compiler.language.builtins.registry import builtin
from compiler.language.context import Context
from compiler.language.values.structs import StructType, struct_type


@builtin("struct")
def _struct(run: Context, **fields: Any) -> StructType:
    return struct_type(fields)
