"""Kernel packages: what changes in their files, constants they share, overloads, clashes, installed ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import BufferType, Graph, TensorType, compile, load_library, ops
from compiler.errors import GraphError, KernelError
from compiler.language.library import default_library
from compiler.language.packages import write_package

HEAD = "from kernels.language import *\n\n\n"


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(HEAD + text)
    return folder


def adding(name: str, number: float) -> str:
    return f'@elementwise("{name}")\ndef {name}(x):\n    return x + {number}\n'


def applied(op: str, x: np.ndarray, *folders: Path, target: str = "cpu") -> Any:
    dtype = {"f": "f32", "i": "i32"}[x.dtype.kind]
    graph = Graph("one", [TensorType(dtype, x.shape)])
    with graph:
        graph.output(ops.custom(op, [graph.inputs[0]], TensorType(dtype, x.shape)))
    model = compile(graph, target=target, library=load_library(*folders))
    return model.execute(x)[0] if target == "cpu" else model


def test_a_change_in_one_file_of_twenty_compiles_one_kernel(tmp_path: Path) -> None:
    folder = written(tmp_path / "many", **{f"file{k}": adding(f"add{k}", k) for k in range(20)})
    graph = Graph("many", [TensorType("f32", (8 + k,)) for k in range(20)])
    with graph:
        graph.output(*(ops.custom(f"add{k}", [x], x.type) for k, x in enumerate(graph.inputs)))
    arrays = [np.zeros(8 + k, np.float32) for k in range(20)]

    def missed() -> tuple[int, list[float]]:
        model = compile(graph, library=load_library(folder))
        return model.stats["cache"]["misses"], [float(y[0]) for y in model.execute(*arrays)]

    assert missed() == (20, [float(k) for k in range(20)])
    assert missed()[0] == 0
    written(folder, file7=adding("add7", 70))
    count, found = missed()
    assert count == 1
    assert found[7] == 70 and found[8] == 8


def test_names_that_clash_name_both_files(tmp_path: Path) -> None:
    one = written(tmp_path / "one", first=adding("twice", 1))
    two = written(tmp_path / "two", second=adding("twice", 2))
    with pytest.raises(KernelError) as told:
        load_library(one, two)
    assert "first.py" in str(told.value) and "second.py" in str(told.value)


def test_two_kernels_for_one_op_are_a_tie(tmp_path: Path) -> None:
    text = '@elementwise("shift")\ndef {0}(x):\n    return x + 1\n'
    folder = written(tmp_path / "tie", first=text.format("a"), second=text.format("b"))
    with pytest.raises(KernelError, match=r"second\.py.*registered for shift and so is a .*first\.py"):
        applied("shift", np.zeros(3, np.float32), folder)


OVERLOADS = """
@elementwise("kind_of")
def any_kind(x):
    return x * 0 + 1


@elementwise("kind_of", dtype=i32)
def whole_kind(x):
    return x * 0 + 2


@elementwise("kind_of", rank=2)
def flat_kind(x):
    return x * 0 + 3


@elementwise("kind_of", rank=2, dtype="i32")
def flat_whole_kind(x):
    return x * 0 + 4


@elementwise("kind_of", target="nvidia", rank=3)
def card_kind(x):
    return x * 0 + 5
"""


def test_the_most_specific_overload_wins(tmp_path: Path) -> None:
    folder = written(tmp_path / "kinds", kinds=OVERLOADS)
    for dtype, rank, expected in ((np.float32, 1, 1), (np.int32, 1, 2), (np.float32, 2, 3), (np.int32, 2, 4)):
        assert applied("kind_of", np.zeros((2,) * rank, dtype), folder).flat[0] == expected
    assert applied("kind_of", np.zeros((2, 2, 2), np.float32), folder).flat[0] == 1
    on_card = applied("kind_of", np.zeros((2, 2, 2), np.float32), folder, target="sm_80")
    assert "card_kind" in on_card.kernels[0].source


def test_neither_of_two_overloads_more_specific_is_a_tie(tmp_path: Path) -> None:
    text = OVERLOADS.replace('@elementwise("kind_of", rank=2, dtype="i32")', '@elementwise("other")')
    folder = written(tmp_path / "kinds", kinds=text)
    with pytest.raises(KernelError, match=r"flat_kind is registered for kind_of and so is whole_kind"):
        applied("kind_of", np.zeros((2, 2), np.int32), folder)


def test_an_overload_for_nothing_that_is_there_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", one='@elementwise("half", dtype=f32)\ndef half(x):\n    return x / 2\n')
    with pytest.raises(KernelError, match="no entry for 'half' is for i32 of rank 1 on cpu"):
        applied("half", np.zeros(3, np.int32), folder)
    written(folder, one='@elementwise("half", dtype=f33)\ndef half(x):\n    return x / 2\n')
    with pytest.raises(KernelError, match="no dtype is called f33"):
        applied("half", np.zeros(3, np.float32), folder)


def test_a_kernel_of_ones_own_stands_in_for_a_built_in_one(tmp_path: Path) -> None:
    folder = written(tmp_path / "own", own='@elementwise("mo.relu", dtype=f32)\ndef odd_relu(x):\n    return x + 100\n')
    graph = Graph("relu", [TensorType("f32", (2,))])
    with graph:
        graph.output(ops.relu(graph.inputs[0]))
    assert compile(graph, library=load_library(folder)).execute([1.0, 2.0])[0].tolist() == [101, 102]


def test_constants_are_shared_within_a_package(tmp_path: Path) -> None:
    kernel = "from .sizes import STEP\nfrom kernels.math import exp\n\n\n"
    kernel += '@elementwise("step")\ndef step(x):\n    return x + STEP\n'
    folder = written(tmp_path / "shared", sizes="BASE = 2\nSTEP = BASE * 5\n", kernel=kernel)
    x = np.zeros(3, np.float32)
    assert applied("step", x, folder)[0] == 10
    written(folder, sizes="BASE = 3\nSTEP = BASE * 5\n")
    assert applied("step", x, folder)[0] == 15
    written(folder, sizes="BASE = 3\n")
    with pytest.raises(KernelError, match=r"kernel\.py:4.*sizes\.py has no constant STEP"):
        applied("step", x, folder)
    written(folder, sizes="from .kernel import *\nSTEP = 3\n")
    with pytest.raises(KernelError, match="import constants of each other"):
        applied("step", x, folder)
    written(folder, sizes="STEP = 3\n", kernel=kernel.replace("from .sizes", "from shared.sizes"))
    with pytest.raises(KernelError, match=r"kernel\.py:10:16: unknown name STEP; `from \.sizes import STEP` brings in"):
        applied("step", x, folder)


def test_an_installed_package_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    package = site / "ours_of_kernels"
    site.mkdir()
    written(package, add=adding("add_nine", 9))
    (package / "__init__.py").write_text("raise RuntimeError('it is never imported')")
    record = site / "ours_of_kernels-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: ours-of-kernels\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text("[kernelglass.kernels]\nours = ours_of_kernels\n")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    assert applied("add_nine", np.zeros(2, np.float32), Path("ours"))[0] == 9
    with pytest.raises(KernelError, match="the installed packages of kernels are ours"):
        load_library("theirs")


FUSED = """
@elementwise("own_gelu")
def own_gelu(x):
    return x * 0.5 * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@kernel("own_sum")
def own_sum(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    reduce_with(out, x, partial, axes, own_sum_of)


@reduction("own_sum")
def own_sum_of(dt):
    return dt(0), lambda a, b: a + b, lambda v, n: v, True
"""


def test_a_product_a_custom_activation_and_a_custom_reduction_take_as_few_kernels_as_built_in_ones(
    tmp_path: Path,
) -> None:
    library = load_library(written(tmp_path / "own", own=FUSED))

    def built(custom: bool) -> Any:
        graph = Graph("chain", [TensorType("f32", (32, 64)), TensorType("f32", (64, 48))])
        with graph:
            a, b = graph.inputs
            product = a @ b
            if custom:
                active = ops.custom("own_gelu", [product], product.type)
                graph.output(ops.custom("own_sum", [active], TensorType("f32", (32,)), axes=(1,)))
            else:
                graph.output(ops.sum(ops.gelu(product, approximate="tanh"), axis=1))
        return compile(graph, library=library)

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((32, 64), (64, 48))]
    own, usual = built(True), built(False)
    assert len(own.kernels) <= len(usual.kernels)
    np.testing.assert_allclose(own.execute(*arrays)[0], usual.execute(*arrays)[0], rtol=1e-3, atol=1e-3)


SHAPED = """
from .sizes import TILE


@inline
def rest(shape):
    return shape[1:]


@shape("halves")
def halves_shape(x, *, parts=2):
    return (x.shape[0] // parts, *rest(x.shape))


@kernel("halves")
def halves(out: FusedOutput, x: FusedInput, *, parts=2):
    for i in range(*split(out.shape[0])):
        for j in range(out.shape[1]):
            out[i, j] = x[i * parts, j]


@shape("two")
def two_shapes(x):
    return (x.shape[:1], i32), ((TILE,), x.dtype)


@shape("wrong")
def wrong_shape(x):
    return x[0, 0]
"""


def test_result_types_come_from_the_kernels_own_shape_function(tmp_path: Path) -> None:
    library = load_library(written(tmp_path / "shaped", shaped=SHAPED, sizes="TILE = 8\n"))
    graph = Graph("halves", [TensorType("f32", ("M", 4))])
    with graph:
        (x,) = graph.inputs
        half = ops.custom("halves", [x], library=library)
        assert str(half.type) == str(TensorType("f32", (x.shape[0] // 2, 4)))
        assert ops.custom("halves", [x], library=library, parts=4).shape == (x.shape[0] // 4, 4)
        first, second = ops.custom("two", [x], library=library)
        assert (first.type, second.type) == (TensorType("i32", (x.shape[0],)), TensorType("f32", (8,)))
        with pytest.raises(KernelError, match=r"shaped\.py:\d+.*has no elements"):
            ops.custom("wrong", [x], library=library)
        with pytest.raises(KernelError, match="has no @shape function"):
            ops.custom("other", [x], library=library)
        with pytest.raises(GraphError, match="needs result_types, or the library"):
            ops.custom("halves", [x])
        graph.output(half)
    given = np.arange(24, dtype=np.float32).reshape(6, 4)
    assert compile(graph, library=library).execute(given)[0].tolist() == given[::2].tolist()


STORED = """
@kernel("rows_by")
def rows_by(out: FusedOutput, x: FusedInput, w: FusedInput, *, often=1):
    for i in range(*split(out.shape[0])):
        out[i] = x[i] + w[i]


@stored("rows_by")
def operands_of_rows_by(x, w, *, often, computed):
    return often > 1, (not target.is_gpu and x.dtype == f32 and computed[0]) or w.shape[0] > 100


@kernel("plain")
def plain(out: FusedOutput, x: FusedInput):
    for i in range(*split(out.shape[0])):
        out[i] = x[i]


@stored("plain")
def operand_of_plain(x):
    return RETURNED
"""


@pytest.mark.parametrize(
    ("size", "often", "left", "right", "together"),
    [(8, 1, False, True, True), (8, 2, True, False, False), (8, 1, True, True, False), (200, 1, False, True, False)],
)
def test_a_kernel_says_of_which_operands_it_wants_the_values_in_memory(
    size: int, often: int, left: bool, right: bool, together: bool, tmp_path: Path
) -> None:
    library = load_library(written(tmp_path / "stored", stored=STORED))
    with Graph("stored", [TensorType("f32", (size,))] * 2) as graph:
        x, w = graph.inputs
        x, w = ops.abs(x) if left else x, ops.reshape(ops.neg(w), (size,)) if right else w
        graph.output(ops.custom("rows_by", [x, w], x.type, often=often))
    model = compile(graph, library=library)
    assert (len(model.kernels) == 1) is together
    arrays = [np.random.default_rng(0).standard_normal(size).astype(np.float32) for _ in range(2)]
    wanted = (np.abs(arrays[0]) if left else arrays[0]) + (-arrays[1] if right else arrays[1])
    assert np.array_equal(model.execute(*arrays)[0], wanted)


@pytest.mark.parametrize(
    ("returned", "words"),
    [("3", "returns True or False"), ("(True, False)", "for each of the 1"), ("x[0] > 0", "has no elements")],
)
def test_what_is_no_answer_to_which_operands_are_stored_is_an_error(returned: str, words: str, tmp_path: Path) -> None:
    library = load_library(written(tmp_path / "stored", stored=STORED.replace("RETURNED", returned)))
    with Graph("stored", [TensorType("f32", (8,))]) as graph:
        (x,) = graph.inputs
        graph.output(ops.custom("plain", [ops.abs(x)], x.type))
    with pytest.raises(KernelError, match=rf"stored\.py:\d+.*{words}"):
        compile(graph, library=library)


def test_effects_of_custom_kernels_keep_their_order(tmp_path: Path) -> None:
    text = adding("one_more", 1) + '\n\n@elementwise("doubled")\ndef doubled(x):\n    return x * 2\n'
    library = load_library(written(tmp_path / "own", own=text))
    graph = Graph("state", [BufferType("f32", (4,))])

    def changed(op: str) -> Any:
        held = ops.buffer_load(buffer)
        ops.buffer_store(buffer, ops.custom(op, [held], held.type))
        return held

    with graph:
        (buffer,) = graph.inputs
        before = [changed(op) for op in ("one_more", "doubled", "one_more")]
        graph.output(*before, ops.buffer_load(buffer))
    state = np.full(4, 3, np.float32)
    found = compile(graph, library=library).execute(state)
    assert [float(value[0]) for value in found] == [3, 4, 8, 9]
    assert state.tolist() == [9, 9, 9, 9]


def relu_of(*folders: Path) -> Any:
    graph = Graph("one", [TensorType("f32", (4,))])
    with graph:
        graph.output(ops.relu(graph.inputs[0]))
    x = np.array([-2, -1, 0, 3], np.float32)
    return compile(graph, library=load_library(*folders), cache=False).execute(x)[0].tolist()


def test_a_package_may_take_the_place_of_a_file_of_the_library(tmp_path: Path) -> None:
    original = Path(default_library().find("relu").file)
    text = original.read_text().replace("return max(x, 0)\n", "return max(x, -1)\n")
    write_package(tmp_path / "mine", {original.name: text})
    assert relu_of(tmp_path / "mine") == [-1, -1, 0, 3]
    assert relu_of() == [0, 0, 0, 3], "and for nobody else"
    library = load_library(tmp_path / "mine")
    assert len(library.files) == len(default_library().files)
    assert library.find("relu").file == str(tmp_path / "mine" / original.name)
    plain = written(tmp_path / "plain", other=text.removeprefix(HEAD))
    with pytest.raises(KernelError, match="is defined here and in"):
        load_library(plain)


def test_what_imports_constants_of_a_replaced_file_sees_the_new_ones(tmp_path: Path) -> None:
    uses = "from .sizes import STEP\n\n\n" + adding("stepped", 0).replace("+ 0", "+ STEP")
    folder = written(tmp_path / "own", sizes="STEP = 3\n", stepped=uses)
    write_package(tmp_path / "more", {"sizes.py": "STEP = 5\n"})
    zero = np.zeros(2, np.float32)
    assert applied("stepped", zero, folder).tolist() == [3, 3]
    assert applied("stepped", zero, folder, tmp_path / "more").tolist() == [5, 5]


def test_packages_that_say_nonsense_are_told_in_a_line(tmp_path: Path) -> None:
    write_package(tmp_path, {"nowhere.py": HEAD + adding("nowhere", 1)})
    with pytest.raises(KernelError, match=r"the library has no file of that name"):
        load_library(tmp_path)
    for text, words in (
        ("replaces = 3", "is a list of names"), ("replaces = [", "cannot be read"),
        ('replaces = ["../matmul.py"]', "is a list of names"), ('replaces = ["gone.py"]', "no such file beside it"),
    ):  # fmt: skip
        (tmp_path / "library.toml").write_text(text)
        with pytest.raises(KernelError, match=words):
            load_library(tmp_path)
    (tmp_path / "library.toml").unlink()
    with pytest.raises(KernelError, match="there already"):
        write_package(tmp_path, {"nowhere.py": "x = 1\n"})
    with pytest.raises(KernelError, match="no name of a kernel file"):
        write_package(tmp_path, {"../nowhere.py": "x = 1\n"})


def test_a_definition_that_is_registered_for_no_op_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", first="@elementwise\ndef thrice(x):\n    return x * 3\n")
    with pytest.raises(
        KernelError, match=r"thrice at .*first.py:\d+ is registered for no op; @elementwise\('thrice'\)"
    ):
        applied("thrice", np.zeros(3, np.float32), folder)


def test_a_file_that_an_editor_marked_as_utf_8_is_read(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(adding("marked", 5), encoding="utf-8-sig")
    assert applied("marked", np.zeros(3, np.float32), tmp_path).tolist() == [5, 5, 5]
