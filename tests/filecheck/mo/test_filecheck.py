"""Runs every .mlir file of mo/, mogg/ and mgp/: its RUN line names the passes, its CHECK lines what must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.dialects import mgp, mo, mogg
from compiler.dialects.mo.reading import MoParser
from compiler.language.library import default_library
from compiler.options import CompileOptions
from compiler.passes.fusion.fuse import fuse
from compiler.passes.fusion.module import mogg_text
from compiler.passes.graph.run import GRAPH_PASSES
from compiler.program.host_program import Interface, host_program
from compiler.program.mgp_text import mgp_text
from tests.filecheck.checking import check

ROOT = Path(__file__).parents[1]
FILES = sorted(path for folder in ("mo", "mogg", "mgp") for path in (ROOT / folder).glob("*.mlir"))
PASSES = dict(GRAPH_PASSES)


def transformed(text: str, steps: list[str]) -> str:
    """The text after the steps: graph passes, then `mogg`, `mgp` or `source` for what fusion makes of it."""
    if steps[0] in ("read-mogg", "read-mgp"):
        module = MoParser(text, "<text>", mogg.Mogg, mgp.Mgp).parse_module()
        module.verify()
        return mo.text_of(module)
    module = MoParser(text).parse_module()
    module.verify()
    graph = mo.graph_of(module)
    for step in steps:
        if step in PASSES:
            PASSES[step](graph)
            module.verify()
            continue
        name, _, option = step.partition(":")
        result = fuse(graph, default_library(), CompileOptions(fuse=option != "unfused"))
        if name == "source":
            return "\n".join(kernel.source for kernel in result.kernels)
        if name == "ledger":
            return "\n".join(
                f"{d.producer} -> {d.consumer}: {'yes' if d.accepted else 'no'}, {d.rule}, {d.reason}, {d.bytes_saved}"
                for d in result.ledger
            )
        if name == "mogg":
            return mogg_text(result.origin.fused)[0]
        return mgp_text(host_program(result, {}, Interface()))[0]
    return mo.text_of(module)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_filecheck(path):
    check(path, "//", transformed)
