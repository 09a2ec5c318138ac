"""Every op there is, by name. Each family of builders enters its own, so whoever imports this package has them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.graph.opspec import OpSpec
from compiler.graph.rules import Infer

SPECS: dict[str, OpSpec] = {}


def define(
    short: str,
    infer: Infer | None,
    operands: int | tuple[int, int] = 1,
    attrs: Mapping[str, str] | None = None,
    **facts: Any,
) -> OpSpec:
    """Enter the op `mo.short`; `facts` are the further fields of its OpSpec."""
    span = operands if isinstance(operands, tuple) else (operands, operands)
    spec = SPECS[f"mo.{short}"] = OpSpec(f"mo.{short}", infer, attrs or {}, span, **facts)
    return spec
