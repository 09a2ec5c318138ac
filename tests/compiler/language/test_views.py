"""Views of tensors, of fused inputs and of sinks, against NumPy: chains of them, loaded at every width and axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.language.drive import argument, body_error, compiled, kernel, run


def copied(
    view: str, shape: tuple[int, ...], x: np.ndarray, *, width: int = 1, axis: int = 0, head: str = ""
) -> np.ndarray:
    """What a view shows, read element by element or by vectors along an axis."""
    loops, indent = "", ""
    steps = [width if k == axis else 1 for k in range(len(shape))]
    for k, size in enumerate(shape):
        loops += f"{indent}for i{k} in range(0, {size}, {steps[k]}):\n"
        indent += "    "
    index = "".join(f"i{k}, " for k in range(len(shape)))
    body = (
        f"{head}v = {view}\nassert v.shape == {shape} and v.rank == {len(shape)} and v.size == {int(np.prod(shape))}\n"
    )
    if width == 1:
        body += f"{loops}{indent}out[position(({index}))] = v[position(({index}))]"
    else:
        body += f"{loops}{indent}out.store(v.load({index}width={width}, axis={axis}), {index}axis={axis})"
    return run(body, ("i32", shape), x)


def numbered(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


FUSED = "x = FusedInput(lambda at: a[at], i32, a.shape)\n"
KINDS = pytest.mark.parametrize("head", ["x = a\n", FUSED], ids=["tensor", "fused"])


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, tuple[int, ...], np.ndarray, np.ndarray]:
    """A chain of views: its text, the shape before, the array and what the chain makes of it."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3)))
    start = x = numbered(*shape)
    text = "x"
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["permute", "reshape", "broadcast", "slice", "drop"]))
        if kind == "permute" and x.ndim:
            perm = tuple(draw(st.permutations(range(x.ndim))))
            text, x = f"{text}.permute({perm})", x.transpose(perm)
        elif kind == "reshape":
            new = draw(st.sampled_from(sorted(factorings(x.size))))
            text, x = f"{text}.reshape({new})", x.reshape(new)
        elif kind == "broadcast" and x.ndim < 4:
            front = draw(st.sampled_from([(), (2,), (1,), (3, 1)]))
            new = front + tuple(draw(st.sampled_from([1, 3])) if n == 1 else n for n in x.shape)
            text, x = f"{text}.broadcast({new})", np.broadcast_to(x, new)
        elif kind == "slice" and x.ndim:
            pieces = [draw(slices(n)) for n in x.shape]
            starts, steps, sizes = (tuple(p[k] for p in pieces) for k in range(3))
            text = f"{text}.slice({starts}, {steps}, {sizes})"
            for k, (first, step, size) in enumerate(pieces):
                x = np.take(x, [first + i * step for i in range(size)], k)
        elif kind == "drop" and x.ndim:
            axis = draw(st.integers(0, x.ndim - 1))
            at = draw(st.integers(0, x.shape[axis] - 1))
            text, x = f"{text}.drop({axis}, {at})", np.take(x, at, axis)
        if x.size > 200:
            break
    return text, shape, start, x


def factorings(size: int) -> set[tuple[int, ...]]:
    pairs = {(a, size // a) for a in range(1, size + 1) if size % a == 0}
    return {(size,), *pairs, *((1, *p) for p in pairs), *((a, 1, b) for a, b in pairs), *(() for _ in [0] if size == 1)}


@st.composite
def slices(draw: st.DrawFn, length: int) -> tuple[int, int, int]:
    first = draw(st.integers(0, length - 1))
    step = draw(st.sampled_from([1, 2, -1, -2, 3]))
    most = (length - 1 - first) // step + 1 if step > 0 else first // -step + 1
    return first, step, draw(st.integers(1, most))


@KINDS
@settings(max_examples=60, deadline=None)
@given(chain=chains(), data=st.data())
def test_chains_of_views_show_what_numpys_do(head, chain, data):
    text, _, start, expected = chain
    np.testing.assert_array_equal(copied(text, expected.shape, start, head=head), expected)
    wide = [(axis, w) for axis, n in enumerate(expected.shape) for w in (2, 3, 4) if n % w == 0]
    if wide:
        axis, width = data.draw(st.sampled_from(wide))
        np.testing.assert_array_equal(copied(text, expected.shape, start, width=width, axis=axis, head=head), expected)


@KINDS
@pytest.mark.parametrize(
    "view, function",
    [
        ("x.permute((1, 0))", lambda x: x.T),
        ("x.permute(1, 0)", lambda x: x.T),
        ("x.permute((-1, 0))", lambda x: x.T),
        ("x.reshape((24,))", lambda x: x.reshape(24)),
        ("x.reshape((2, 3, 4))", lambda x: x.reshape(2, 3, 4)),
        ("x.reshape(24)", lambda x: x.reshape(24)),
        ("x.permute((1, 0)).reshape((24,))", lambda x: x.T.reshape(24)),
        ("x.broadcast((2, 4, 6))", lambda x: np.broadcast_to(x, (2, 4, 6))),
        ("x.drop(0, 2)", lambda x: x[2]),
        ("x.drop(-1, 2)", lambda x: x[:, 2]),
        ("x.slice((3, 0), (-1, 2), (4, 3))", lambda x: x[::-1, ::2]),
        ("x.drop(0, 1).broadcast((4, 6))", lambda x: np.broadcast_to(x[1], (4, 6))),
        ("x.slice((0, 5), (1, -1), (4, 6)).reshape((8, 3))", lambda x: x[:, ::-1].reshape(8, 3)),
    ],
)
def test_each_view(view, function, head):
    x = numbered(4, 6)
    expected = function(x)
    np.testing.assert_array_equal(copied(view, expected.shape, x, head=head), expected)


@KINDS
def test_views_at_run_time_places(head):
    x = numbered(4, 6)
    rows = run(
        f"{head}for i in range(4):\n    v = x.drop(0, 3 - i)\n    out.store(v.load(0, width=6), i, 0)",
        ("i32", (4, 6)),
        x,
    )
    np.testing.assert_array_equal(rows, x[::-1])
    part = (
        f"{head}for i in range(3):\n    v = x.slice((i, index(1)), (1, 2), (2, 3))\n"
        f"    out.store(v.load(1, 0, width=3), i, 0)"
    )
    np.testing.assert_array_equal(run(part, ("i32", (3, 3)), x), x[1:4, 1::2])
    step = (
        f"{head}k = index(b[0])\nv = x.slice((0, 0), (1, k), (4, 3))\nfor i in range(4):\n"
        f"    out.store(v.load(i, 0, width=3), i, 0)"
    )
    np.testing.assert_array_equal(run(step, ("i32", (4, 3)), x, np.int32([2])), x[:, ::2])


def test_tensors_stay_strided_where_strides_can_say_it():
    source = kernel(
        "x = a.slice((1, 0), (2, 1), (2, 6)).permute((1, 0))\nassert x.strides == (1, 12)\n"
        "assert x.reshape((2, 3, 2)).strides == (3, 1, 12)\nassert a.reshape((24,)).is_strided\n"
        "assert not a.permute((1, 0)).reshape((24,)).is_strided\nassert a.broadcast((5, 4, 6)).strides == (0, 6, 1)\n"
        "assert a.drop(1, 2).strides == (6,) and a.reshape((4, 1, 6)).strides[0] == 6\nout[0] = 1",
        "out: Tensor[i32, (1,)], a: Tensor[i32, (4, 6)]",
    )
    compiled(source)


@pytest.mark.parametrize(
    "view, expected",
    [
        ("a.is_contiguous(1)", 1),
        ("a.is_contiguous(0)", 0),
        ("a.permute((1, 0)).is_contiguous(0)", 1),
        ("a.broadcast((3, 4, 6)).is_contiguous(-1)", 1),
        ("a.slice((0, 0), (1, 2), (4, 3)).is_contiguous(1)", 0),
        ("FusedInput(lambda at: a[at], i32, a.shape).is_contiguous(1)", 1),
        ("FusedInput(lambda at: at.lanes(lambda one: a[one]), i32, a.shape).is_contiguous(1)", 0),
        ("FusedInput(lambda at: a[at], i32, a.shape).is_contiguous(0)", 0),
        ("FusedInput(lambda at: a.permute((1, 0))[at], i32, (6, 4)).is_contiguous(0)", 0),
        ("FusedInput(lambda at: a[position((0, at.index[1]))], i32, a.shape).is_contiguous(1)", 0),
        ("FusedInput(lambda at: FusedInput(lambda here: a[here], i32, a.shape)[at], i32, a.shape).is_contiguous(1)", 0),
        ("a.drop(0, 1).is_contiguous(0)", 1),
        ("a.permute((1, 0)).reshape((24,)).is_contiguous(0)", 0),
        ("a.drop(0, 0).drop(0, 0).is_contiguous(0)", 0),
    ],
)
def test_contiguity_is_told_only_where_it_is_known(view, expected):
    assert run(f"out[0] = 1 if {view} else 0", ("i32", (1,)), numbered(4, 6))[0] == expected


@pytest.mark.parametrize(
    "view, message",
    [
        ("o.permute((0,))", "permute needs the 2 axes"),
        ("o.permute((0, 0))", "names an axis twice"),
        ("o.permute((0, 2))", "axis 2 of 2"),
        ("o.permute(5)", "permute needs the 2 axes"),
        ("o.permute((0, 1.0))", "an axis is a compile-time whole number"),
        ("o.reshape((5, 5))", "reshape of (4, 6) to (5, 5): other numbers of elements"),
        ("o.reshape((-4, -6))", "below zero"),
        ("o.reshape('x')", "a shape is a tuple"),
        ("o.reshape((4, 6.0))", "a shape is a tuple"),
        ("o.reshape((True, 24))", "a shape is"),
        ("o.broadcast((6,))", "(4, 6) cannot be broadcast to (6)"),
        ("o.broadcast((4, 7))", "cannot be broadcast to (4, 7)"),
        ("o.broadcast((4, 1))", "cannot be broadcast"),
        ("o.broadcast((2 ** 40, 2 ** 40, 4, 6))", "too many elements"),
        ("o.slice((0,), (1,), (4,))", "slice needs a start, step and size for each of 2 axes"),
        ("o.slice((0, 0), (1, 1), (4, 7))", "slice from 0 to 6"),
        ("o.slice((0, 0), (1, -1), (4, 2))", "slice from 0 to -1 of an axis of 6"),
        ("o.slice(0, 1, 2)", "slice needs"),
        ("o.slice((0, 0.5), (1, 1), (1, 1))", "float 0.5 is not an index"),
        ("o.slice((0, 0), (1, None), (1, 1))", "None is not an index"),
        ("o.drop(2, 0)", "axis 2 of 2 axes"),
        ("o.drop(0)", ".drop() takes axis, index; 1 given"),
        ("o.drop(0, 'a')", "is not an index"),
        ("o.drop(0, 0, 0)", ".drop() takes axis, index; 3 given"),
        ("o.permute(order=(1, 0))", ".permute() has no parameter order"),
        ("o.reshape((24,), shape=(24,))", ".reshape() has no parameter shape"),
        ("o.transpose()", "has no attribute transpose"),
        ("o[0]", "1 indices for 2 axes"),
        ("o[0, 0, 0]", "3 indices"),
        ("o[0, 0.5]", "is not an index"),
        ("o[0, o[0, 0]]", "one index, not f32"),
        ("o[0, iota(index, 4)]", "one index, not SIMD[index, 4]"),
        ("o[True, 0]", "bool True is not an index"),
        ("o[0:1, 0]", "no slice expression"),
        ("o[0:2]", "cannot be sliced; use .slice"),
        ("o.load(0, 0, width=0)", "a width is"),
        ("o.load(0, 0, width=2, axis=2)", "axis 2 of 2"),
        ("o.load(0, 0, wide=2)", "has no parameter wide"),
        ("o.load(position((0, 0)), width=2)", "the position's own width"),
        ("o.store()", ".store() needs a value"),
        ("o.store(1.0)", "0 indices for 2 axes"),
        ("o.store(i32(1), 0, 0)", "cannot be stored where f32"),
        ("o.store(1.0, 0, 0, width=2)", "has no parameter width"),
        ("o.atomic_add()", "needs a value"),
        ("o.atomic_add(0, 0, i32(1))", "one number"),
    ],
)
def test_what_views_refuse(view, message):
    assert message in body_error(f"x = {view}", "o: Tensor[f32, (4, 6)]")


# Sinks


SINKS = ["s = FusedOutput(put, i32, out.shape)", "s = view_of(out)"]
SINK_HEAD = "@inline\ndef view_of(s: FusedOutput):\n    return s\n"


@pytest.mark.parametrize("sink", SINKS, ids=["fused", "tensor"])
@pytest.mark.parametrize(
    "view, function",
    [
        ("s", lambda y: y),
        ("s.permute((1, 0))", lambda y: y.T),
        ("s.reshape((24,))", lambda y: y.reshape(24)),
        ("s.reshape((8, 3))", lambda y: y.reshape(8, 3)),
        ("s.permute((1, 0)).reshape((2, 12))", lambda y: y.T.reshape(2, 12)),
        ("s.reshape((2, 2, 6)).permute((2, 0, 1))", lambda y: y.reshape(2, 2, 6).transpose(2, 0, 1)),
    ],
)
@pytest.mark.parametrize("width", [1, 3])
def test_views_of_sinks(sink, view, function, width):
    positions = numbered(4, 6)
    seen = function(positions)  # which element of the output each element of the view is
    last = seen.ndim - 1
    step = width if seen.shape[last] % width == 0 else 1
    loops = "".join(
        f"{'    ' * k}for i{k} in range(0, {n}, {step if k == last else 1}):\n" for k, n in enumerate(seen.shape)
    )
    index = "".join(f"i{k}, " for k in range(seen.ndim))
    load = f"a.reshape({seen.shape}).load({index}width={step})"
    body = (
        f"def put(at, v):\n    out[at] = v\n{sink}\nv = {view}\n"
        f"{loops}{'    ' * seen.ndim}v[position(({index}), width={step})] = {load}"
    )
    x = np.random.default_rng(0).integers(0, 99, (4, 6)).astype(np.int32)
    expected = np.zeros(24, np.int32)
    expected[seen.reshape(-1)] = x.reshape(-1)
    np.testing.assert_array_equal(run(body, ("i32", (4, 6)), x, head=SINK_HEAD), expected.reshape(4, 6))


def test_single_elements_have_views_too():
    x = np.array(7, np.int32)
    body = (
        "v = a.reshape((1, 1)).permute((1, 0)).reshape(()).permute(()).broadcast((3,))\n"
        "out.store(v.load(0, width=3), 0)"
    )
    np.testing.assert_array_equal(run(body, ("i32", (3,)), x), [7, 7, 7])
    fused = (
        "v = FusedInput(lambda at: a[at], i32, ()).permute(()).reshape((1,)).broadcast((3,))\n"
        "for i in range(3):\n    out[i] = v[i]"
    )
    np.testing.assert_array_equal(run(fused, ("i32", (3,)), x), [7, 7, 7])
    assert run("out[position(())] = a[position(())] + a.load()", ("i32", ()), x) == 14
    assert run("view_of(out).permute(()).reshape((1,))[0] = a[position(())]", ("i32", ()), x, head=SINK_HEAD) == 7
    assert "2 lanes of a single element" in body_error("x = o.load(width=2)", "o: Tensor[f32, ()]")


def test_argument_text_is_what_the_kernel_takes():
    assert argument("x", numbered(2, 3)) == "x: Tensor[i32, (2, 3, )]"
