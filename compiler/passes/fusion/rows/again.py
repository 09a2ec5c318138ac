"""When a row kernel had better not compute something dear, as it would have to do so in more than one of its walks."""

from __future__ import annotations

from compiler.graph.dims import product
from compiler.graph.dtypes import dtype_info
from compiler.passes.fusion.analysis import Node
from compiler.passes.fusion.facts.work import LIGHT
from compiler.passes.fusion.groups import Group

_KEPT_BYTES = 32768  # of a row that is surely kept: half of what kernels/row_phases.py has room for


def why_not_again(node: Node, group: Group) -> str:
    """Why a value that a row kernel reads had better be stored before; empty when it may be computed there. Walks of
    columns, and of rows too long to keep, compute what they need anew."""
    rows = group.rows
    if rows is None or node.dear <= LIGHT:
        return ""
    walks = max(rows.reductions.values()) + 1 + bool(rows.full)
    length = product([rows.shape[axis] for axis in rows.axes])
    along = len(rows.shape) - 1 in rows.axes
    size = dtype_info(node.result.type.dtype).bytes
    if walks < 2 or (along and isinstance(length, int) and length * size <= _KEPT_BYTES):
        return ""
    return f"about {node.work} operations would be done again in each of {walks} walks over the rows"


def why_not_kept(node: Node, group: Group) -> str:
    """Why a row kernel had better not store a value for others: it stores at the end, and would have to keep it."""
    if group.rows is None or node.dear <= LIGHT:
        return ""
    return f"a row kernel would have to keep what takes about {node.work} operations until it stores"
