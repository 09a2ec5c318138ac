"""Places: machine code knows the lines of kernel source it was made of, also where optimising lost them."""

from __future__ import annotations

import pytest

from app.sources import load_source
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.places import is_instruction, with_lost_places
from compiler.reading import read_graph

A, B = ("a.py", 1), ("b.py", 2)
NONE = ("", 0)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("llvm", "  %c = fadd float 0.0, 1.0\n  %x = fmul float %c, %c\n  store float %x, ptr %p"),
        ("ptx", "\tmov.b32 \t%r1, 0f00000000;\n\tmul.rn.f32 \t%r2, %r1, %r1;\n\tst.global.b32 \t[%rd1], %r2;"),
        ("asm", "\tmovi\tv0.2d, #0000000000000000\n\tfmul\tv1.4s, v0.4s, v0.4s\n\tstr\tq1, [sp, #16]"),
        ("asm", "\tvxorps\t%xmm0, %xmm0, %xmm0\n\tvmulps\t%ymm0, %ymm0, %ymm1\n\tvmovaps\t%ymm1, 32(%rsp)"),
    ],
    ids=["llvm", "ptx", "arm", "x86"],
)
def test_a_line_without_a_place_takes_that_of_what_it_is_for(language, text):
    assert with_lost_places(text, [NONE, A, NONE], language) == (A, A, A)
    assert with_lost_places(text, [B, A, B], language) == (B, A, B), "what is known stays"
    assert with_lost_places(text, [NONE] * 3, language) == (NONE,) * 3


def test_what_is_executed():
    assert is_instruction("\tadd.s64 \t%rd1, %rd2, 4;", "ptx") and is_instruction("\t@%p1 bra \t$L__BB0_2;", "ptx")
    for line in ("\t.reg .b32 %r<4>;", "$L__BB0_2:", "{", "", "\t// comment", "\t.loc\t1 2 3", "\tret_label:"):
        assert not is_instruction(line, "ptx"), line


@pytest.mark.parametrize("target", ["cpu", "x86-64-v3", "sm_90a"])
@pytest.mark.parametrize("sample", ["mlp", "softmax", "grayscale"])
def test_nine_of_ten_lines_know_their_line_of_source(sample, target):
    model = read_graph(load_source(f"sample:{sample}").graph, CompileOptions(target, debug="line-tables"))
    language = model.target.emission.assembly
    for kernel in model.kernels:
        stage = kernel.stage("asm")
        run = [place for line, place in zip(stage.text.splitlines(), stage.places) if is_instruction(line, language)]
        assert sum(bool(number) for _, number in run) / len(run) >= 0.9, kernel.name
        files = {file.file: file.text.count("\n") + 1 for file in model.library.files}
        files[f"{kernel.name}.py"] = kernel.source.count("\n") + 1
        assert all(1 <= number <= files[file] for file, number in run if number), "a place is a line there is"
        del files[f"{kernel.name}.py"]
        run = [place for line, place in zip(stage.text.splitlines(), stage.library) if is_instruction(line, language)]
        assert sum(bool(number) for _, number in run) / len(run) >= 0.9, "of the kernel library"
        assert all(1 <= number <= files[file] for file, number in run if number)


def test_what_a_generated_kernel_does_by_itself_belongs_to_the_library_line_that_called_it():
    kernel = read_graph(load_source("sample:grayscale").graph, CompileOptions("sm_90a", debug="line-tables")).kernels[0]
    stage = kernel.stage("asm")
    own = f"{kernel.name}.py"
    loads = [n for n, line in enumerate(stage.text.splitlines()) if "ld.global" in line and stage.places[n][0] == own]
    assert loads, "the kernel reads its input in lines of its own"
    library = {file.file: file.text.splitlines() for file in kernel._model.library.files}
    for n in loads:
        file, number = stage.library[n]
        assert file.endswith("gpu_driver.py") and "[" in library[file][number - 1], "the line that asks for an element"
    assert all(b == a for a, b in zip(stage.places, stage.library) if a[1] and a[0] != own), "others stay"


def test_places_are_read_without_changing_what_is_compiled():
    """Objects and texts are the same bytes whether or not anybody asks where their lines come from."""
    graph = load_source("sample:softmax").graph
    asked, other = (compile_graph(graph, CompileOptions(debug="line-tables", cache=False)) for _ in range(2))
    assert asked.kernels[0].stage("asm").places
    assert asked._objects == other._objects


def test_every_node_knows_the_line_that_made_it():
    graph = load_source("sample:mlp").graph
    made = [op.nodes[0] for op in graph.ops]
    assert set(made) <= set(graph.places)
    assert {file.rsplit("/", 1)[-1] for file, _ in graph.places.values()} == {"mlp.py"}
