"""The text of a fused model as `mogg` or `mgp`, with the graph nodes of each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.dialects.mo import print_with_nodes
from compiler.passes.fusion.records import FusionResult


def stage_text(
    result: FusionResult, stage: str, workspaces: Mapping[str, Sequence[Any]] | None = None
) -> tuple[str, list[tuple[str, ...]]]:
    """The text of a stage and, for each of its lines, the graph nodes it stands for."""
    if stage == "mogg":
        return print_with_nodes(result.module)
    from compiler.passes.fusion.program import build_program

    return print_with_nodes(build_program(result, workspaces))
