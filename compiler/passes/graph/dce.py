"""Dead code elimination: ops whose results nobody uses go; what writes a buffer stays."""

from __future__ import annotations

from xdsl.ir import Operation

from compiler.dialects.mo import GraphOp
from compiler.passes.graph.rewrite import erase, mo_ops


def dce(graph: GraphOp) -> int:
    """Remove ops that nothing needs; how many. What changes buffers is kept, except a store overwritten at once."""
    removed = 0
    for op in reversed(mo_ops(graph)):
        if op.name == "mo.buffer_store":
            if not _is_overwritten(op):
                continue
            op.results[0].replace_all_uses_with(op.operands[2])
        elif op.name == "mo.buffer_load" and op.results[0].first_use is None:
            op.results[1].replace_all_uses_with(op.operands[1])
        elif op.name == "mo.update" or any(result.first_use is not None for result in op.results):
            continue
        erase(op)
        removed += 1
    return removed


def _is_overwritten(store: Operation) -> bool:
    """Whether the next thing that happens to the buffer, and to the chain, is another store."""
    after = store.results[0].get_user_of_unique_use()
    return after is not None and after.name == "mo.buffer_store" and after.operands[0] is store.operands[0]
