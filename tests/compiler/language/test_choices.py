"""`choice` in the kernel language: the default unless the decorator says otherwise, and only what is offered."""

import numpy as np
import pytest

from compiler import Graph, TensorType, load_library, ops
from compiler.errors import KernelError
from compiler.language.kernel import Choice
from compiler.options import CompileOptions, Tuned
from compiler.passes.fusion.edits import problem_of
from compiler.pipeline import compile_graph

KERNEL = """
from kernels.language import *
from kernels.parallel import split


@kernel("plus")
def plus(out: FusedOutput, x: FusedInput):
    by = choice("by", 1, (2, 3))
    also = choice("by", 1, (2, 3))
    other = choice("by", 0, (10,))
    begin, end = split(out.shape[0])
    for i in range(begin, end):
        out[i] = x[i] + f32(by + also - 1) + f32(other)
"""


@pytest.fixture
def library(tmp_path):
    (tmp_path / "plus.py").write_text(KERNEL)
    return load_library(tmp_path)


def graph_of(name="plus", size=8):
    with Graph("plus", inputs=[TensorType("f32", (size,))]) as graph:
        graph.output(ops.custom(name, [graph.inputs[0]], [TensorType("f32", (size,))]))
    return graph


def tuned(model, **choices):
    chosen = tuple((name.replace("_", " "), value) for name, value in choices.items())
    return (Tuned(problem_of(model.kernels[0].fused, model.target), chosen),)


def values(model):
    (found,) = model.execute(np.zeros(8, np.float32))
    assert len(set(found.tolist())) == 1
    return found[0]


def test_a_kernel_takes_its_default_and_says_what_else_there_is(library):
    model = compile_graph(graph_of(), CompileOptions(cache=False), library)
    assert values(model) == 1
    assert model.kernels[0].record.choices == (
        Choice("by", 1, 1, (1, 2, 3)),
        Choice("by 2", 0, 0, (0, 10)),  # another one of the same name
    )
    assert model.tuned == {}


def test_what_was_tuned_stands_in_the_source_and_is_taken(library):
    plain = compile_graph(graph_of(), CompileOptions(cache=False), library)
    choices = tuned(plain, by=3, by_2=10)
    model = compile_graph(graph_of(), CompileOptions(cache=False, tuned=choices), library)
    assert model.kernels[0].source.startswith("@kernel(\"plus_kernel\", choices={'by': 3, 'by 2': 10})\n")
    assert values(model) == 5 + 10
    assert model.tuned == {"plus_kernel": {"by": 3, "by 2": 10}}
    assert problem_of(model.kernels[0].fused, model.target) == choices[0].problem


def test_choices_for_another_problem_change_nothing(library):
    plain = compile_graph(graph_of(), CompileOptions(cache=False), library)
    options = CompileOptions(cache=False, tuned=tuned(plain, by=3))
    other = compile_graph(graph_of(size=16), options, library)
    assert other.tuned == {} and other.kernels[0].source.startswith('@kernel("plus_kernel")\n')


def test_edited_source_may_choose(library):
    plain = compile_graph(graph_of(), CompileOptions(cache=False), library)
    edited = plain.kernels[0].source.replace('@kernel("plus_kernel")', '@kernel("plus_kernel", choices={"by": 2})')
    assert (
        values(compile_graph(graph_of(), CompileOptions(cache=False, sources=(("plus_kernel", edited),)), library)) == 3
    )


@pytest.mark.parametrize(
    "choices, words",
    [
        ('{"by": 7}', "by cannot be 7 here; it may be 1, 2, 3"),
        ('{"size": 7}', "plus_kernel makes no choice called size; those it makes are: by, by 2"),
        ('{"by": [1]}', "a kernel's choices are a table"),
        ('__import__("os")', "a kernel's choices are a table"),
        ('{"by": 1.5}', "a kernel's choices are a table"),
    ],
)
def test_what_is_not_offered_is_an_error_of_one_line(library, choices, words):
    plain = compile_graph(graph_of(), CompileOptions(cache=False), library)
    edited = plain.kernels[0].source.replace('@kernel("plus_kernel")', f'@kernel("plus_kernel", choices={choices})')
    with pytest.raises(KernelError, match=words) as found:
        compile_graph(graph_of(), CompileOptions(cache=False, sources=(("plus_kernel", edited),)), library)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "line, words",
    [
        ("by = choice(3, 1, (2,))", "begins with a name"),
        ('by = choice("by", 1.5, (2,))', "a number, a word or several of them"),
        ('by = choice("by", 1, 2)', "are a sequence"),
    ],
)
def test_a_choice_that_is_none_is_an_error_at_its_line(tmp_path, line, words):
    (tmp_path / "plus.py").write_text(KERNEL.replace('by = choice("by", 1, (2, 3))', line, 1))
    with pytest.raises(KernelError, match=words) as found:
        compile_graph(graph_of(), CompileOptions(cache=False), load_library(tmp_path))
    assert found.value.location.line == 8


def test_functions_that_kernels_share_choose_nothing(tmp_path):
    shared = '\n\n@function\ndef more(x):\n    return x + f32(choice("more", 1, (2,)))\n'
    (tmp_path / "plus.py").write_text(KERNEL.replace("x[i] + f32(by", "more(x[i]) + f32(by") + shared)
    with pytest.raises(KernelError, match="stands in a kernel or in its @inline functions"):
        compile_graph(graph_of(), CompileOptions(cache=False), load_library(tmp_path))


def test_a_model_from_the_cache_has_the_choices_it_is_asked_for(library, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    plain = compile_graph(graph_of(), CompileOptions(), library)
    assert values(plain) == 1
    asked = [(), tuned(plain, by=3), tuned(plain, by=2), (Tuned("another", (("by", 2),)),)]
    for _ in range(2):
        found = [compile_graph(graph_of(), CompileOptions(tuned=choices), library) for choices in asked]
        assert [values(model) for model in found] == [1, 5, 3, 1]
        assert [model.tuned for model in found] == [{}, {"plus_kernel": {"by": 3}}, {"plus_kernel": {"by": 2}}, {}]
        assert [model.kernels[0].record.choices[0].taken for model in found] == [1, 3, 2, 1]
    assert all(model.stats["cache"]["hits"] == 1 for model in found)


def test_a_saved_model_says_what_it_was_tuned_to(library, tmp_path):
    from compiler import load

    plain = compile_graph(graph_of(), CompileOptions(cache=False), library)
    several = (*tuned(plain, by=3), Tuned("another", (("by", 2),)))
    model = compile_graph(graph_of(), CompileOptions(cache=False, tuned=several), library)
    model.save(tmp_path / "plus.kgx")
    again = load(tmp_path / "plus.kgx", library)
    assert again.tuned == {"plus_kernel": {"by": 3}} and values(again) == 5
    assert [each.problem for each in again.options.tuned] == [several[0].problem]  # not what concerns other models
