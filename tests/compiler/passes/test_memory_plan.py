"""The memory plan: lifetimes, in-place reuse, alignment; buffers that live together never overlap."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.language.kernel import BufferArgument, ElaboratedKernel
from compiler.passes.fusion.records import Buffer, FusedKernel, FusionResult, KernelCall, Origin
from compiler.program.host_program import Interface, host_program
from compiler.program.memory_plan import ALIGNMENT, plan
from compiler.reference import reference


def nowhere():
    raise AssertionError("a plan does not ask for the graph")


ORIGIN = Origin(nowhere)
SCRATCH = ElaboratedKernel("k", (), (BufferArgument("ws0", "f64", (9,)),), (), (), None)


def call(operands, results, inplace=()):
    kernel = FusedKernel("k", "", (), (), (), (), (), tuple(inplace))
    return KernelCall(kernel, tuple(operands), tuple(results), (), (), (), 0, ORIGIN)


def program_of(*calls, scratch=False):
    fusion = FusionResult("g", (), calls, (), (), (), (), ORIGIN)
    return host_program(fusion, {"k": SCRATCH} if scratch else {}, Interface())


def temporary(name, count):
    return Buffer(name, TensorType("f32", (count,)), "temporary")


def check(memory):
    """No two blocks that live at the same time overlap, unless one takes the other's place where it dies."""
    by_name = {b.name: b for b in memory.blocks}
    for one in memory.blocks:
        assert one.offset % ALIGNMENT == 0
        assert one.offset + one.size <= memory.peak
        if one.reuses is not None:
            before = by_name[one.reuses]
            assert (before.offset, before.size, before.last) == (one.offset, one.size, one.first)
        for two in memory.blocks:
            if one is two or not one.size or not two.size or one.last < two.first or two.last < one.first:
                continue
            if one.name == two.reuses or two.name == one.reuses:
                assert one.last == two.first or two.last == one.first
                continue
            assert one.offset + one.size <= two.offset or two.offset + two.size <= one.offset, (one, two)


@st.composite
def programs(draw):
    calls, alive = [], []
    for number in range(draw(st.integers(1, 20))):
        operands = draw(st.lists(st.sampled_from(alive), unique=True, max_size=3)) if alive else []
        results = [
            temporary(f"t{number}.{k}", draw(st.sampled_from([0, 1, 16, 17, 64, 100])))
            for k in range(draw(st.integers(1, 3)))
        ]
        inplace = [
            (i, j)
            for i, r in enumerate(results)
            for j, o in enumerate(operands)
            if r.type == o.type and draw(st.booleans())
        ]
        calls.append(call(operands, results, inplace))
        alive += results
    return calls


@settings(max_examples=200, deadline=None)
@given(calls=programs(), scratch=st.booleans())
def test_what_lives_together_never_overlaps(calls, scratch):
    program = program_of(*calls, scratch=scratch)
    memory = plan(program, {})
    check(memory)
    assert memory.peak <= memory.total_without_reuse
    assert len(memory.blocks) == len(program.lifetimes) + (len(program.calls) if scratch else 0)
    assert len(plan(program, {}, workspaces=False).blocks) == len(program.lifetimes)


def test_a_chain_needs_two_buffers_or_one_in_place():
    t = [temporary(f"t{k}", 64) for k in range(6)]
    apart = [call(t[k : k + 1], t[k + 1 : k + 2]) for k in range(5)]
    first = call([], t[:1])
    memory = plan(program_of(first, *apart), {})
    assert memory.peak == 2 * 256
    assert memory.total_without_reuse == 6 * 256
    assert memory.saved == 4 * 256
    together = [call(t[k : k + 1], t[k + 1 : k + 2], [(0, 0)]) for k in range(5)]
    memory = plan(program_of(first, *together), {})
    assert memory.peak == 256
    assert [b.reuses for b in memory.blocks] == [None, "t0", "t1", "t2", "t3", "t4"]


def test_a_buffer_that_is_read_later_is_not_overwritten():
    a, b, c = (temporary(n, 64) for n in "abc")
    program = program_of(call([], [a]), call([a], [b], [(0, 0)]), call([a, b], [c]))
    memory = plan(program, {})
    check(memory)
    assert all(block.reuses is None for block in memory.blocks)


def test_sizes_follow_the_symbols():
    kind = TensorType("f32", ("M", 100))
    a, b = Buffer("a", kind, "temporary"), Buffer("b", kind, "temporary")
    program = program_of(call([], [a]), call([a], [b]))
    assert plan(program, {"M": 1}).peak == 2 * 448
    assert plan(program, {"M": 16}).peak == 2 * 6400
    assert plan(program, {"M": 0}).peak == 0


def test_a_fused_model_runs_in_its_planned_arena(fused, run_kernels):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 8)), TensorType("f32", (8, 8))])
    with graph:
        x, w = graph.inputs
        h = x
        for _ in range(4):
            h = h + ops.tanh(ops.layer_norm(h) @ w)
            h = ops.cumsum(h, axis=1) * 0.5
        graph.output(h)
    result = fused(graph).result
    memory = plan(host_program(result, {}, Interface()), {"M": 5})
    assert any(block.reuses for block in memory.blocks)
    assert memory.peak < memory.total_without_reuse
    arena = np.full(memory.peak, 0xA5, np.uint8)
    offsets = {b.buffer: b for b in memory.blocks}
    arrays = [np.random.default_rng(k).standard_normal(s).astype("f4") for k, s in enumerate([(5, 8), (8, 8)])]
    got = run_kernels(
        result, graph, *arrays, memory=lambda b: arena[offsets[b].offset : offsets[b].offset + offsets[b].size]
    )
    np.testing.assert_array_equal(got[0], reference(graph, *arrays)[0])
