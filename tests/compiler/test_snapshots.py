"""Snapshots: the IR after each pass that changed it, of what is really compiled, without touching the compilation."""

import re
from itertools import pairwise

import pytest

from app.sources import load_source
from compiler.backend.llvm import optimise, parse
from compiler.backend.llvm_steps import count_instructions, read_steps, read_times
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.statistics import funnel_of
from compiler.targets import get_target


def model_of(source, **options):
    return compile_graph(load_source(source).graph, CompileOptions(**{"cache": False, **options}))


def instructions(text):
    """Counted by LLVM itself."""
    return sum(1 for f in parse(text).functions for block in f.blocks for _ in block.instructions)


def bodies(text):
    """The code of the functions in LLVM IR, less what writing and reading bitcode may order or number otherwise."""
    code = "".join(re.findall(r"^define [^\n]*\n.*?^\}", text, re.MULTILINE | re.DOTALL))
    return re.sub(r"; preds = .*| #\d+|!\d+", "", code)


@pytest.fixture(scope="module")
def block():
    return model_of("sample:transformer-block")


def test_snapshots_lead_from_the_elaborated_kernel_to_the_optimised_one(block):
    kernel = block.kernel("matmul_add")
    taken = block.snapshot("matmul_add")
    own = [s for s in taken if s.stage == "kernel"]
    llvm = [s for s in taken if s.stage == "llvm"]
    assert [*own, *llvm] == list(taken)
    assert own[0].text == kernel.ir("kgen") and own[-1].text == kernel.ir("kernel")
    assert own[0].name == "elaborate" and llvm[0].name == "emit-llvm"
    assert {"dce", "lower-kgen", "dead-args"} <= {s.name for s in own}
    assert {"InstCombinePass", "SimplifyCFGPass"} <= {s.name for s in llvm}
    assert {s.scope for s in llvm[1:]} > {"matmul_add"}
    for stage in (own, llvm):
        for before, after in pairwise(stage):
            assert before.text != after.text
            assert (after.ops_before, after.bytes_before) == (before.ops_after, before.bytes_after)
        assert all(len(s.text) == s.bytes_after for s in stage)
    assert [s.ops_after for s in llvm] == [instructions(s.text) for s in llvm]


def test_a_pass_is_seen_in_the_kernels_that_it_changes():
    conv = model_of("sample:conv-relu-pool").snapshot("conv2d_add_relu")
    assert {"dce", "lower-kgen", "canonicalise", "dead-args"} <= {s.name for s in conv if s.stage == "kernel"}


@pytest.mark.parametrize("target, level", [("cpu", 0), ("cpu", 1), ("cpu", 3), ("sm_90a", 3), ("gfx942", 2)])
def test_the_last_snapshot_is_what_an_ordinary_compilation_gives(target, level):
    model = model_of("sample:mlp", target=target, opt_level=level)
    kernel = model.kernels[0]
    last = model.snapshot(kernel.name)[-1]
    ordinary = optimise(kernel.ir("llvm"), get_target(target), level)
    assert last.text == str(ordinary.module)
    assert bodies(last.text) == bodies(kernel.ir("llvm-opt"))


def test_snapshots_leave_no_trace_in_ordinary_compilations(block, capfd):
    before = block.kernel("layer_norm_kernel").unit.object
    block.snapshot("layer_norm_kernel")
    again = model_of("sample:transformer-block")
    assert again.kernel("layer_norm_kernel").unit.object == before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
def test_a_compilation_keeps_its_snapshots_when_asked(flow, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    plain = model_of("sample:mlp", flow=flow, cache=True)
    kept = model_of("sample:mlp", flow=flow, cache=True, snapshots=True)
    assert not plain.trace.snapshots
    modules = kept.trace.snapshots
    assert {k.name for k in kept.kernels} <= set(modules)
    own = "" if flow == "all-kernel" else kept.kernels[0].name
    assert modules[""][0].name == "copy" and modules[""][0].stage == "mo"
    assert {"elaborate", "lower-kgen"} <= {s.name for s in modules[own] if s.stage == "kernel"}
    assert any(s.name == "InstCombinePass" and s.seconds >= 0 for s in modules[kept.kernels[0].name])
    texts = [s.text for taken in modules.values() for s in taken]
    assert len({id(text) for text in texts}) == len(set(texts)), "equal texts are one string"
    changed = [r for r in kept.trace.passes if r.stage in ("mo", "kernel", "llvm-pass") and r.changed]
    counted = sum(len(taken) for taken in modules.values())
    starts = sum(s.name in ("copy", "elaborate", "emit-llvm") for taken in modules.values() for s in taken)
    assert len(changed) == counted - starts
    assert all(r.ops_after >= 0 and r.bytes_before >= 0 for r in changed if r.stage == "llvm-pass")
    assert kept.stats["seconds"].keys() == plain.stats["seconds"].keys()


def test_the_code_is_the_same_with_and_without():
    units = [
        {r.kernel: r.bytes_after for r in model_of("sample:mlp", snapshots=on).trace.passes if r.stage == "machine"}
        for on in (False, True)
    ]
    assert units[0] == units[1]


def test_without_snapshots_the_trace_still_times_llvms_passes():
    trace = model_of("sample:mlp").trace
    timed = {r.name for r in trace.passes if r.stage == "llvm-pass" and r.seconds > 0}
    assert "InstCombinePass" in timed
    whole = sum(r.seconds for r in trace.passes if r.stage == "machine")
    assert sum(r.seconds for r in trace.passes if r.stage == "llvm-pass") < whole
    assert "llvm-pass" not in {step.stage for step in funnel_of(trace.passes)}


def test_kernel_passes_say_whether_they_changed_something():
    trace = model_of("sample:mlp", flow="per-kernel").trace
    records = [r for r in trace.passes if r.stage == "kernel" and r.name not in ("census", "lower-kgen")]
    assert all(isinstance(r.changed, bool) for r in records)
    assert all(r.changed for r in records if r.ops_before != r.ops_after)


def test_no_such_kernel(block):
    with pytest.raises(CompilerError, match="no kernel is called 'nothing'"):
        block.snapshot("nothing")


DUMP = """*** IR Dump At Start ***
define void @f() {
  ret void
}
*** IR Dump After InferPass<A, B> on [module] omitted because no change ***
*** IR Pass ModuleToFunctionPassAdaptor on [module] ignored ***
*** IR Dump After LICMPass on loop %for.body in function f ***
define void @f() {
entry:
  ret void
}
*** IR Dump After InlinerPass on (f, g) filtered out ***
*** IR Deleted After InlinerPass on (g) ***
*** IR Dump After LICMPass on f ***
define void @f() {
  ret void
}
"""
TIMES = """
===-------------------------------------------------------------------------===
                          Pass execution timing report
===-------------------------------------------------------------------------===
  Total Execution Time: 0.0495 seconds (0.2238 wall clock)

   ---User Time---   --System Time--   --User+System--   ---Wall Time---  --- Name ---
   0.0135 ( 28.1%)   0.0002 ( 15.0%)   0.0137 ( 27.7%)   0.0594 ( 26.5%)  LICMPass
   0.0098 ( 20.5%)   0.0000 (  1.2%)   0.0099 ( 19.9%)   0.0428 ( 19.1%)  LICMPass #2
   0.0037 (  7.6%)   0.0002 ( 13.9%)   0.0039 (  7.8%)   0.0166 (  7.4%)  InferPass<A, B> #1
   0.0480 (100.0%)   0.0015 (100.0%)   0.0495 (100.0%)   0.2238 (100.0%)  Total
                        Analysis execution timing report
   0.0016 ( 43.7%)   0.0005 ( 48.1%)   0.0021 ( 44.6%)   0.0021 ( 44.6%)  LoopAnalysis #1
"""


def test_reading_what_llvm_writes():
    times = read_times(TIMES)
    assert times == {("LICMPass", 2): 0.0428, ("InferPass<A, B>", 1): 0.0166}
    steps = read_steps(DUMP, times)
    assert [(s.name, s.scope, s.changed, s.seconds) for s in steps] == [
        ("start", "module", False, 0.0),
        ("InferPass<A, B>", "module", False, 0.0166),
        ("LICMPass", "loop %for.body in function f", True, 0.0),
        ("InlinerPass", "(f, g)", False, 0.0),
        ("InlinerPass", "(g)", True, 0.0),
        ("LICMPass", "f", True, 0.0428),
    ]
    assert steps[2].text == "define void @f() {\nentry:\n  ret void\n}\n"
    assert steps[-1].text is steps[0].text


def test_instructions_are_counted_as_llvm_counts_them():
    text = """
define i32 @f(i32 %x) {
entry:
  switch i32 %x, label %other [
    i32 0, label %zero
    i32 1, label %one
  ]

zero:                                             ; preds = %entry
  ret i32 5

one:                                              ; preds = %entry
  br label %other

other:                                            ; preds = %one, %entry
  %r = phi i32 [ 1, %one ], [ 2, %entry ]
  ret i32 %r
}

declare void @g()
"""
    assert count_instructions(str(parse(text))) == instructions(text) == 5
