"""Sources nobody would write: damaged library files, random programs. Each elaborates or is a KernelError, and soon."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import KernelError
from compiler.language.elaborate import Elaborator
from compiler.language.kernel import KernelSource
from compiler.language.library import Library, default_library
from compiler.language.syntax.source import SourceFile
from compiler.pipeline import language_target
from compiler.targets import get_target
from tests.compiler.language.drive import ARITHMETIC, COMPARISONS, lower
from tests.compiler.language.library_kernels import SOURCES

SECONDS = 20.0  # of processor time, far more than the limits of the elaborator let anything take
TOKEN = re.compile(r"\w+|[^\S\n]+|\n|[^\w\s]")
REPLACEMENTS = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "1.5",
    "0.0",
    "65536",
    "10**9",
    "2**70",
    "None",
    "True",
    "'a'",
    "()",
    "(1,)",
    "[]",
    "f32",
    "i32",
    "index",
    "bool",
    "N",
    "target",
    "x",
    "out",
    "a",
    "b",
    "range",
    "unroll",
    "stack",
    "zeros",
    "splat",
    "vector",
    "shuffle",
    "position",
    "FusedInput",
    "min",
    "max",
    "len",
    "tuple",
    "static",
    "select",
    "error",
    *ARITHMETIC,
    "~",
    *COMPARISONS,
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "def",
    "return",
    "pass",
    "break",
    "continue",
    "assert",
    "lambda",
    "import",
    "class",
    "with",
    "try",
    "yield",
    "del",
    "global",
    ":",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=",
    "+=",
    "@",
    ";",
    "#",
    "\n",
    '"',
    "'",
    "...",
    "#",
    ":=",
    "->",
    "\\",
]
NAMES = sorted(SOURCES)
SMALL = [
    n
    for n in NAMES
    if n in ("softmax", "cumsum", "reduce_sum (2,)", "exp", "gelu", "argmax", "rope", "pad", "views", "layer_norm")
]


@cache
def library_files() -> dict[str, str]:
    return {file.file: file.text for file in default_library().files}


def attempt(source: str, files: dict[str, str]) -> None:
    """Elaborate; whatever is wrong with it is told by a KernelError with a place, on one line."""
    start = time.process_time()
    try:
        library = Library([SourceFile(name, text) for name, text in files.items()])
        elaborator = Elaborator(library, language_target(get_target("cpu")))
        elaborator.add(KernelSource("kernel", source))
        module = elaborator.module()
        module.verify()
        lower(module).verify()
    except KernelError as problem:
        assert "\n" not in str(problem) and len(str(problem)) < 1000
        assert problem.location is not None and problem.location.line >= 1 and problem.location.column >= 1, str(
            problem
        )
    assert time.process_time() - start < SECONDS


@st.composite
def damage(draw: st.DrawFn, text: str) -> str:
    """A text with a few lines or tokens deleted, doubled, exchanged or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            pieces = text.split("\n")
            joint = "\n"
        else:
            pieces, joint = TOKEN.findall(text), ""
        if not pieces:
            break
        at, other = draw(st.integers(0, len(pieces) - 1)), draw(st.integers(0, len(pieces) - 1))
        kind = draw(st.sampled_from(["delete", "double", "swap", "copy", "replace", "indent", "dedent", "cut"]))
        if kind == "delete":
            del pieces[at]
        elif kind == "double":
            pieces.insert(at, pieces[at])
        elif kind == "swap":
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif kind == "copy":
            pieces.insert(at, pieces[other])
        elif kind == "replace":
            pieces[at] = draw(st.sampled_from(REPLACEMENTS))
        elif kind == "indent":
            pieces[at] = f"    {pieces[at]}"
        elif kind == "dedent":
            pieces[at] = pieces[at].removeprefix("    ")
        else:
            pieces = pieces[: max(at, 1)]
        text = joint.join(pieces)
    return text


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_damaged_library_files(data):
    files = dict(library_files())
    name = data.draw(st.sampled_from(SMALL))
    path = data.draw(st.sampled_from(sorted(files)))
    files[path] = data.draw(damage(files[path]))
    attempt(SOURCES[name], files)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_damaged_kernels(data):
    attempt(data.draw(damage(SOURCES[data.draw(st.sampled_from(NAMES))])), library_files())


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_damaged_part_is_the_one_that_is_used(data):
    """The same, with the file that defines the kernel, so that most damage is met."""
    where = {
        "softmax": "softmax",
        "cumsum": "scan",
        "argmax": "arg_reduce",
        "exp": "exponential",
        "layer_norm": "normalization",
    }
    name = data.draw(st.sampled_from(sorted(where)))
    part = data.draw(st.sampled_from([where[name], "rows", "indexing", "parallel"]))
    files = dict(library_files())
    path = next(p for p in files if Path(p).stem == part)
    files[path] = data.draw(damage(files[path]))
    attempt(SOURCES[name], files)


# Random programs

VALUES = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "-1",
        "0.5",
        "x",
        "y",
        "z",
        "k",
        "o[0]",
        "o[k]",
        "o[i]",
        "o.load(0, width=4)",
        "f32(1)",
        "i32(2)",
        "index(3)",
        "N",
        "True",
        "None",
        "(x, y)",
        "[x, 1]",
        "len(z)",
        "f(x)",
        "g(x, y)",
        "x[0]",
        "zeros(f32, 4)",
        "o[0] > 0",
        "x > y",
        "i",
    ]
)
EXPRESSIONS = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "and", "or", "&"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(
            st.sampled_from(["min", "max", "abs", "f32", "index", "select", "f", "g", "vector", "concat"]),
            st.lists(inner, min_size=1, max_size=3),
        ).map(lambda t: f"{t[0]}({', '.join(t[1])})"),
        inner.map(lambda t: f"[{t} for i in range(3)]"),
        inner.map(lambda t: f"(lambda x: {t})"),
    ),
    max_leaves=4,
)
TARGETS = st.sampled_from(["x", "y", "z", "k", "o[0]", "o[i]", "x[0]", "x, y", "(x, (y, z))", "f", "N", "o"])


def indented(lines: list[list[str]]) -> list[str]:
    return [f"    {line}" for block in lines for line in block] or ["    pass"]


def compound(blocks: st.SearchStrategy[list[list[str]]]) -> st.SearchStrategy[list[str]]:
    heads = st.one_of(
        EXPRESSIONS.map(lambda e: f"if {e}:"),
        EXPRESSIONS.map(lambda e: f"while {e}:"),
        EXPRESSIONS.map(lambda e: f"for i in range({e}):"),
        EXPRESSIONS.map(lambda e: f"for k in unroll({e}):"),
        st.just("for x, y in ((1, 2), (3, 4)):"),
        st.just("if o[0] > 0:"),
        st.just("if o[1] > x:"),
        st.just("for i in range(N):"),
        st.just("def f(x):"),
        st.just("def g(x, *y, k=1):"),
        st.just("for k in unroll(3):"),
    )
    return st.one_of(
        st.tuples(heads, blocks).map(lambda t: [t[0], *indented(t[1])]),
        st.tuples(EXPRESSIONS, blocks, blocks).map(
            lambda t: [f"if {t[0]}:", *indented(t[1]), "else:", *indented(t[2])]
        ),
        st.tuples(blocks, blocks).map(lambda t: ["if o[0] > 0:", *indented(t[0]), "else:", *indented(t[1])]),
    )


SIMPLE = st.one_of(
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: [f"{t[0]} = {t[1]}"]),
    st.tuples(TARGETS, st.sampled_from("+-*"), EXPRESSIONS).map(
        lambda t: [f"{t[0].split(',')[0].strip('(')} {t[1]}= {t[2]}"]
    ),
    EXPRESSIONS.map(lambda e: [f"return {e}"]),
    EXPRESSIONS.map(lambda e: [f"o[0] = {e}"]),
    EXPRESSIONS.map(lambda e: [e]),
    st.sampled_from(
        [
            ["return"],
            ["pass"],
            ["break"],
            ["continue"],
            ["assert N"],
            ["x = f32(0)"],
            ["y = index(1)"],
            ["k = 0"],
            ["barrier()"],
        ]
    ),
)
STATEMENTS = st.recursive(SIMPLE, lambda inner: compound(st.lists(inner, max_size=4)), max_leaves=12)
START = "x, y, z, k, i = f32(0), index(1), (1, 2), 0, 2\nf = lambda x: x\ng = lambda x, y: x\n"


@settings(max_examples=120, deadline=None)
@given(blocks=st.lists(STATEMENTS, min_size=1, max_size=6), start=st.booleans())
def test_random_programs(blocks, start):
    body = (START.splitlines() if start else []) + [line for block in blocks for line in block]
    source = "@kernel\ndef kernel(o: Tensor[f32, (N,)]):\n" + "".join(f"    {line}\n" for line in body)
    attempt(source, {})


@pytest.mark.parametrize(
    "body",
    [
        "x = " + "(" * 150 + "1" + ")" * 150,
        "x = " + "-" * 3000 + "1",
        "x = " + "+".join(["1"] * 3000),
        "x = " + "[" * 90 + "]" * 90,
        "x = o[0]" + ".cast(f32)" * 3000,
        "x = " + "not " * 3000 + "1",
        "\n".join(f"{' ' * k}if o[0] > {k}:" for k in range(90)) + "\n" + " " * 90 + "pass",
        "x = 1\n" * 20000,
        "x = '" + "a" * 10**6 + "'",
        "x = 0x" + "f" * 10**6,
        "x = 1" + "0" * 5000,
        "x = f'" + "{1}" * 30000 + "'",
        "def f(n):\n    return f(n + 1)\nf(0)",
        "def f(n):\n    f(n + 1)\n    f(n + 1)\nf(0)",
        "f = lambda g: g(g)\nf(f)",
        "x = o[0]\nfor i in unroll(60000):\n    x = x + o[i]",
        "for i in unroll(300):\n    for j in unroll(300):\n        o[i] = o[j] * i",
        "x = [o.load(0, width=4096) for i in range(1000)]\nfor i in range(9):\n    x = [y * y for y in x]",
        "x = o.load(0, width=4096)\nfor i in unroll(64):\n    x = x[::-1]",
        "x = o.permute((0,))\n" * 2000,
        "v = o\nfor i in unroll(2000):\n    v = FusedInput(lambda at: v[at], f32, (N,))\nx = v[0]",
        "x = 'a'\nfor i in unroll(400):\n    x = x + str(i)",
        "\x00",
        "é = 1",
        "x = 1 if" + " 1 if" * 100 + " 2 else 3",
        "if o[0] > 0:\n    if o[1] > 0:\n        return\n" * 14 + "o[0] = 1.0",
        "x = o[0]\n" + "if x > 0:\n    x = x + 1\n" * 400,
        "for i in range(N):\n    " + "for j in range(N): o[0] = 1.0\n    " * 300 + "pass",
    ],
    ids=range(28),
)
def test_sources_of_unusual_size_or_depth(body):
    text = "".join(f"    {line}\n" for line in body.split("\n"))
    attempt(f"@kernel\ndef kernel(o: Tensor[f32, (N,)]):\n{text}", {})
