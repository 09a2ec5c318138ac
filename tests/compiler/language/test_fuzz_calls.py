"""Every builtin, method, attribute and operator with every kind of value: it works, or is a KernelError on one line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import KernelError
from compiler.language.builtins import BUILTINS
from compiler.language.values.methods import (
    _DTYPE_FIELDS,
    _SIMD_METHODS,
    _SINK_METHODS,
    _TENSOR_METHODS,
    TARGET_FIELDS,
)
from tests.compiler.language.drive import ARITHMETIC, COMPARISONS, elaborate, kernel, lower

HEAD = """
K = (1, 2)
@inline
def inlined(x):
    return x
@function
def shared_function(x, *, k=1):
    return x * x + k
@outlined
def outlined_function(t, n):
    t[0] = t[0] + n
@elementwise("x.y")
def lanewise(x, y):
    return x + y
"""
SETUP = {
    "s": "f32(o[0])",
    "r": "i32(o[1])",
    "f": "f64(o[2])",
    "d": "index(o[3])",
    "b": "o[0] > 0",
    "h": "o[0].cast(bf16)",
    "v": "o.load(0, width=4)",
    "w": "o.load(0, width=4).cast(u8)",
    "m": "o.load(0, width=4) > 1",
    "q": "o.load(0, width=8)",
    "st": "stack(f32, (2, 3))",
    "fi": "FusedInput(lambda at: 1, f32, (4, 6))",
    "fo": "FusedOutput(lambda at, x: None, f32, (4, 6))",
    "at": "position((1, 2))",
    "wide": "position((1, 2), width=4, axis=0)",
}
_NAME = re.compile(r"\b[a-z]+\b")
VALUES = [
    "0",
    "1",
    "-1",
    "3",
    "2 ** 70",
    "-(10 ** 300)",
    "1.5",
    "-0.0",
    "f32.nan",
    "f32.inf",
    "1e300",
    "True",
    "None",
    "'a'",
    "'f32'",
    "''",
    "()",
    "(1, 2)",
    "(1.5, 'a')",
    "[1]",
    "((1,), (2,))",
    "(s, v)",
    "f32",
    "i8",
    "index",
    "bool",
    "N",
    "N * 2 + 1",
    "(N, 4)",
    "o",
    "p",
    "st",
    "fi",
    "fo",
    "at",
    "wide",
    "lambda x: x",
    "lambda: 1",
    "min",
    "inlined",
    "shared_function",
    "outlined_function",
    "lanewise",
    "K",
    "target",
    "range(3)",
    "range(N)",
    "unroll(3)",
    "zip((1,), (2,))",
    "s",
    "r",
    "f",
    "d",
    "b",
    "h",
    "v",
    "w",
    "m",
    "q",
    "s.sum",
    "o.load",
]
ATTRIBUTES = sorted(
    {
        *_SIMD_METHODS,
        *_TENSOR_METHODS,
        *_SINK_METHODS,
        *_DTYPE_FIELDS,
        *TARGET_FIELDS,
        "simd",
        "dtype",
        "width",
        "axis",
        "index",
        "lanes",
        "shape",
        "rank",
        "size",
        "strides",
        "flat",
        "is_strided",
        "append",
        "ssa",
        "__class__",
        "element",
        "memory",
    }
)
SIGNS = [*ARITHMETIC, "@", *COMPARISONS, "is", "in", "not in", "and", "or"]
CALLED = sorted(BUILTINS)
ARGUMENTS = "o: Tensor[f32, (16,)], p: Tensor[i32, (4, 6)], z: Tensor[f32, (N,)]"


def setup_for(body: str) -> str:
    """Definitions of the names a body mentions."""
    mentioned = set(_NAME.findall(body))
    return "".join(f"{name} = {value}\n" for name, value in SETUP.items() if name in mentioned)


def outcome(body: str) -> str:
    """'fine', or the message; anything but a KernelError escapes."""
    setup = setup_for(body)
    head = HEAD if "ed" in body or "lanewise" in body or "K" in body else ""
    try:
        module, _ = elaborate(kernel(f"{setup}{body}", ARGUMENTS, head))
    except KernelError as problem:
        message = str(problem)
        assert "\n" not in message and message.startswith("kernel.py:") and len(message) < 600, message
        assert problem.location is not None and problem.location.line and problem.location.column
        return message
    module.verify()
    lower(module).verify()
    return "fine"


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLED)
def test_builtins_with_any_value_in_any_place(name):
    outcome(f"x = {name}()")
    for value in VALUES:
        for arguments in (value, f"s, {value}", f"{value}, (4,)", f"f32, {value}, 2"):
            outcome(f"x = {name}({arguments})")
    for keyword in (
        "width=2",
        "axis=0",
        "axis='a'",
        "results=2",
        "blocks=1, threads=1",
        "nonsense=1",
        "name='a'",
        "run=1",
    ):
        outcome(f"x = {name}(s, {keyword})")


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES)
def test_attributes_and_methods_of_any_value(value):
    for name in ATTRIBUTES:
        if outcome(f"x = ({value}).{name}") != "fine":
            continue
        for arguments in (
            "",
            "0",
            "s",
            "f32",
            "(1, 0)",
            "0, 1",
            "d, 1.0",
            "lambda y: y",
            "1, 2, 3",
            "at",
            "width=2",
            "axis=1",
        ):
            outcome(f"x = ({value}).{name}({arguments})")


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES)
def test_operators_on_any_value(value):
    for sign in ("-", "+", "~", "not "):
        outcome(f"x = {sign}({value})")
    for other in ("3", "2.5", "v", "d", "N", "(1, 2)", value):
        for sign in SIGNS:
            outcome(f"x = ({value}) {sign} ({other})")
            outcome(f"x = ({other}) {sign} ({value})")


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES)
def test_any_value_in_any_place_of_the_syntax(value):
    for body in (
        f"x = ({value})[0]",
        f"x = ({value})[{value}]",
        f"x = o[{value}]",
        f"x = v[{value}]",
        f"x = (1, 2)[{value}]",
        f"x = p[0, {value}]",
        f"x = ({value})[0:2]",
        f"x = (1, 2)[{value}:]",
        f"o[0] = {value}",
        f"o[{value}] = 1.0",
        f"v[1] = {value}",
        f"x, y = {value}",
        f"if {value}:\n    x = 1\nelse:\n    x = 2",
        f"x = {value}\nif b:\n    x = s\ny = x",
        f"x = s\nif b:\n    x = {value}\ny = x",
        f"x = {value}\nif b:\n    x = {value}\ny = x",
        f"while {value}:\n    x = 1",
        f"for i in {value}:\n    x = i",
        f"for i in range({value}):\n    o[0] = 1.0",
        f"for i in range(0, 8, {value}):\n    o[0] = 1.0",
        f"x = [i for i in {value}]",
        f"for i in unroll({value}):\n    x = i",
        f"x = {value}\nfor i in range(5):\n    y = x\n    x = s",
        f"x = 1 if {value} else 2",
        f"x = s\nfor i in range(5):\n    x = {value}\ny = x",
        f"x = {value}\nfor i in range(5):\n    x = {value}\ny = x",
        f"x = {value}\nwhile o[0] > 0:\n    x = x\ny = x",
        f"assert {value}",
        f"assert False, {value}",
        f"x = f'{{{value}}}'",
        f"x = ({value} if b else s)",
        f"x = (s if b else {value})",
        f"x = [*({value})]",
        f"x = ({value})(*K)",
        f"error({value})",
        f"x = ({value})()",
        f"x = ({value})(s)",
        f"x = inlined({value})",
        f"x = shared_function({value})",
        f"x = shared_function(s, k={value})",
        f"x = outlined_function({value}, s)",
        f"x = outlined_function(o, {value})",
        f"x = lanewise({value}, s)",
        f"x = lanewise(h, {value})",
        f"def g():\n    return {value}\nx = g()",
        f"def g():\n    if b:\n        return {value}\n    return s\nx = g()",
        f"s += {value}",
        f"x = {value}\nx += 1",
        f"y = {value}\ny[0] = 1",
        f"x = -({value})",
        f"return {value}",
        f"fo[1, 2] = {value}",
        f"fo[{value}] = s",
        f"x = FusedInput(lambda at: {value}, f32, (4,))[1]",
        f"x = FusedInput(lambda at: {value}, i8, (8,)).load(0, width=4)",
        f"x = at.lanes(lambda one: {value})",
        f"x = wide.lanes(lambda one: {value})",
        f"launch(blocks={value}, threads=32)",
    ):
        outcome(body)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(CALLED), arguments=st.lists(st.sampled_from(VALUES), max_size=4))
def test_builtins_with_some_values(name, arguments):
    outcome(f"x = {name}({', '.join(arguments)})")


@settings(max_examples=300, deadline=None)
@given(
    value=st.sampled_from(VALUES),
    name=st.sampled_from(ATTRIBUTES),
    arguments=st.lists(st.sampled_from(VALUES), max_size=3),
)
def test_methods_with_some_values(value, name, arguments):
    outcome(f"x = ({value}).{name}({', '.join(arguments)})")


ATOMS = st.sampled_from(VALUES)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(SIGNS), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(CALLED), st.lists(inner, max_size=4)).map(lambda t: f"{t[0]}({', '.join(t[1])})"),
        st.tuples(inner, st.sampled_from(ATTRIBUTES)).map(lambda t: f"({t[0]}).{t[1]}"),
        st.tuples(inner, st.sampled_from(ATTRIBUTES), st.lists(inner, max_size=3)).map(
            lambda t: f"({t[0]}).{t[1]}({', '.join(t[2])})"
        ),
        st.tuples(inner, inner).map(lambda t: f"({t[0]})[{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.lists(inner, max_size=3).map(lambda t: f"({''.join(f'{x}, ' for x in t)})"),
        st.tuples(inner, inner).map(lambda t: f"[({t[0]}) for i in ({t[1]})]"),
        st.tuples(inner, inner).map(lambda t: f"(lambda x: {t[0]})({t[1]})"),
    ),
    max_leaves=10,
)


@settings(max_examples=400, deadline=None)
@given(expression=EXPRESSIONS)
def test_any_expression(expression):
    outcome(f"x = {expression}")
