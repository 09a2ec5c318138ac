"""What the language does not have, and what a library may not hold: each is refused with its place and its rule."""

from __future__ import annotations

import pytest

from compiler.errors import KernelError
from compiler.language.library import Library, default_library, load_library, read_folder
from compiler.language.source import SourceFile
from tests.compiler.language.drive import body_error, elaborate, error, kernel, library


@pytest.mark.parametrize(
    "statement, message",
    [
        ("class C:\n    pass", "1:1: the kernel language has no `class`"),
        ("with o:\n    pass", "1:1: the kernel language has no `with`"),
        ("try:\n    pass\nfinally:\n    pass", "1:1: the kernel language has no `try`"),
        ("raise o", "1:1: the kernel language has no `raise`"),
        ("del o", "1:1: the kernel language has no `del`"),
        ("global o", "1:1: the kernel language has no `global`"),
        ("nonlocal o", "1:1: the kernel language has no `nonlocal`"),
        ("import os", "1:1: the kernel language has no `import`"),
        ("from os import path", "1:1: the kernel language has no `import`"),
        ("async def f():\n    pass", "1:1: the kernel language has no `async def`"),
        ("match o:\n    case 1:\n        pass", "1:1: the kernel language has no `match`"),
        ("yield 1", "1:1: the kernel language has no yield expression"),
        ("x = await o", "1:5: the kernel language has no await expression"),
        ("x = yield from o", "1:5: the kernel language has no yield from expression"),
        ("o.x = 1", "1:1: this cannot be assigned to"),
        ("*x, y = (1, 2)", "1:1: this cannot be assigned to"),
        ("x, y = 1", "1:1: cannot unpack int 1 into 2 names"),
        ("x, y = (1, 2, 3)", "1:1: cannot unpack tuple into 2 names"),
        ("x = f(**{})", "1:5: unknown name f"),
        ("x = min(**o)", "1:5: ** is not part of the kernel language"),
        ("x = 3\nx.y += 1", "2:1: int 3 has no attribute y"),
        ("(1, 2)[0] = 3", "1:1: elements of tuple cannot be assigned"),
        ("x = 'a'\nx[0] = 'b'", "2:1: elements of str 'a' cannot be assigned"),
        ("x = (y\n", "1:5: syntax error: '(' was never closed"),
        ("x = 1 +", "1:8: syntax error: invalid syntax"),
        ("x = undefined", "1:5: unknown name undefined"),
        ("x = print(1)", "1:5: unknown name print"),
        ("x = __import__('os')", "1:5: unknown name __import__"),
        ("x = open('a')", "1:5: unknown name open"),
        ("x = isinstance(1, int)", "1:5: unknown name isinstance"),
    ],
)
def test_what_the_language_does_not_have(statement, message):
    assert body_error(statement).startswith(message)


def test_an_error_is_one_line_with_its_place_first():
    problem = error(kernel("y = 1\nx = o[0] + (1, 2)", "o: Tensor[f32, (N,)]"))
    assert str(problem) == "kernel.py:4:9: +: tuple and f32 do not mix"


def test_the_file_of_a_kernel_may_be_named():
    from compiler.language.elaborate import Elaborator
    from compiler.language.kernel import KernelSource
    from compiler.targets import get_target

    elaborator = Elaborator(Library([]), get_target("cpu"))
    with pytest.raises(KernelError, match=r"^mine\.kernel:3:5: unknown name nothing"):
        elaborator.add(KernelSource("k", "@kernel\ndef k(o: Tensor[f32, (4,)]):\n    nothing()\n", file="mine.kernel"))
    # What failed is forgotten: the next kernel of the module is none the worse.
    record = elaborator.add(KernelSource("k", "@kernel\ndef k(o: Tensor[f32, (4,)]):\n    o[0] = 1.0\n"))
    assert record.name == "k"
    elaborator.module().verify()


@pytest.mark.parametrize(
    "source, message",
    [
        ("", "kernel.py:1:1: this source defines no @kernel"),
        ("X = 1\n", "kernel.py:1:1: this source defines no @kernel"),
        ("@inline\ndef f(x):\n    return x\n", "kernel.py:1:1: this source defines no @kernel"),
        ("@kernel\n", "kernel.py:1:"),
        ("@kernel\nX = 1\n", "kernel.py:2:1: syntax error: invalid syntax"),
        ("@kernel\nclass C:\n    pass\n", "kernel.py:1:1: a decorator must stand over a def"),
        ("@kernel\n@inline\ndef k():\n    pass\n", "kernel.py:3:1: k needs one decorator"),
        ("@kernel(1)\ndef k():\n    pass\n", "kernel.py:1:1: a decorator takes the name of the op as a text"),
        ("@kernel('a', 'b')\ndef k():\n    pass\n", "kernel.py:1:1: a decorator takes the name of the op"),
        ("@kernel('a', fast=True)\ndef k():\n    pass\n", "kernel.py:1:1: a decorator's options are raw=True"),
        ("@kernel\ndef k(x=1):\n    pass\n", "kernel.py:2:1: arguments are positional and have no defaults"),
        ("@kernel\ndef k(**x):\n    pass\n", "kernel.py:2:1: arguments are positional"),
        ("@kernel\ndef k():\n    pass\n@kernel\ndef k():\n    pass\n", "kernel.py:4:1: k is defined twice"),
        ("@kernel\ndef k():\n  x = 1\n    y = 2\n", "kernel.py:4:4: syntax error: unexpected indent"),
        ("@kernel\ndef k():\n\tx = 1\n        y = 2\n", "kernel.py:4:"),
        ("@kernel\ndef k(:\n    pass\n", "kernel.py:2:7: syntax error"),
        ("@kernel\ndef k():\n    x = '\n", "kernel.py:3:9: syntax error: unterminated string literal"),
        ("x = 1 2\n@kernel\ndef k():\n    pass\n", "kernel.py:1:7: syntax error"),
    ],
)
def test_sources_that_are_no_kernels(source, message):
    assert str(error(source)).startswith(message)


# Libraries

F = "@inline\ndef f(x):\n    return x\n"


def test_names_of_a_library_are_unique():
    with pytest.raises(KernelError, match=r"library1\.py:1:1: f is defined here and in library0\.py:1"):
        library(F, F).names()
    with pytest.raises(KernelError, match=r"library0\.py:5:1: f is defined twice"):
        library(f"{F}\n{F}").names()
    with pytest.raises(KernelError, match=r"library0\.py:1:1: f needs a decorator: "):
        library("def f(x):\n    return x\n").names()


@pytest.mark.parametrize("given", ["3", "relu", "None", "f'a'", '""', "['a']", "'a' + 'b'", "*('a',)"])
def test_a_decorator_that_names_no_op_is_told_before_anything_asks_for_its_kernel(given):
    """Nothing would ever find it: the op would silently be the library's own, or be missing elsewhere."""
    with pytest.raises(KernelError, match=r"library0\.py:6:1: a decorator takes the name of the op as a text"):
        library(f"{F}\n\n@elementwise({given})\ndef mine(x):\n    return x\n").operations()


def test_an_ops_name_may_stand_anywhere_in_the_parentheses():
    text = '@elementwise(  # mine\n    "a",\n)\ndef one(x):\n    return x\n'
    text += '@elementwise(r"b")\ndef two(x):\n    return x\n'
    assert sorted(library(text).operations()) == ["a", "b"]


def test_the_most_specific_kernel_of_an_op_wins():
    one = "@pointwise('x.op')\ndef one(at, x: FusedInput):\n    return x[at]\n"
    many = "@pointwise('x.op')\ndef many(at, *xs):\n    return xs[0][at]\n"
    found = library(one, many)
    assert found.implementation("x.op", 1).name == "one" and found.implementation("x.op", 2).name == "many"  # pyright: ignore[reportOptionalMemberAccess]
    assert found.implementation("x.other") is None and found.signature("x.other") is None
    with pytest.raises(KernelError, match=r"library1\.py:2:1: two is registered for x\.op and so is one"):
        library(one, one.replace("def one", "def two")).implementation("x.op", 1)


def test_signatures_are_read_off_annotations():
    arguments = "out: Tensor, a: FusedInput, b: Tensor, w: Workspace[f32, 4], *, eps, axis=1"
    text = f"@kernel('x.k')\ndef k({arguments}):\n    pass\n"
    signature = library(text).signature("x.k", 2)
    assert signature is not None
    assert (signature.kind, signature.inputs, signature.output) == ("kernel", ("fused", "tensor"), "tensor")
    assert (signature.params, signature.required, signature.variadic) == (("eps", "axis"), ("eps",), False)


def test_a_library_is_read_from_a_folder(tmp_path):
    (tmp_path / "mine.py").write_text("@elementwise('x.mine')\ndef mine(x):\n    return x * 2\n")
    (tmp_path / "_hidden.py").write_text("not kernel source at all")
    extended = load_library(tmp_path)
    assert extended.signature("x.mine", 1) is not None and extended.fingerprint != default_library().fingerprint
    assert [file.file for file in read_folder(tmp_path / "mine.py")] == [str(tmp_path / "mine.py")]
    elaborate(kernel("o[0] = mine(o[0])", "o: Tensor[f32, (N,)]"), library=extended)
    with pytest.raises(KernelError, match="no such kernel library"):
        load_library(tmp_path / "nothing")
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KernelError, match="this kernel file cannot be read"):
        load_library(tmp_path)


def test_a_files_own_functions_come_before_the_librarys():
    source = "@inline\ndef f(x):\n    return x * 3\n" + kernel("assert f(2) == 6", "o: Tensor[f32, (N,)]")
    elaborate(source, library=library(F))


def test_a_large_file_is_refused():
    with pytest.raises(KernelError, match="too large for kernel source"):
        SourceFile("big.py", "#" * (5 << 20)).pieces  # noqa: B018
