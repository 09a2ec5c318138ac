"""What the language emits, as text, is read and verified by upstream MLIR (the one inside `torch-mlir`)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from compiler.errors import KernelError
from compiler.language.library import default_library
from tests.compiler.language.drive import DTYPES, FLOATS, INTEGERS, elaborate, kernel, lower, text
from tests.compiler.language.library_kernels import FEWER, SOURCES
from tests.compiler.language.test_fuzz_calls import ARGUMENTS, EXPRESSIONS, HEAD, setup_for

pytestmark = pytest.mark.oracle
upstream = pytest.importorskip("torch_mlir.ir", reason="torch-mlir, which brings upstream MLIR, is not installed")
TARGETS = ("cpu", "sm_90", "gfx942")


def accepted(source: str, target: str = "cpu") -> None:
    """Upstream reads the kernel-stage text of a source, with and without locations."""
    module, _ = elaborate(source, target=target, library=default_library())
    lowered = lower(module, target=target)
    with upstream.Context():
        assert upstream.Module.parse(text(lowered)).operation.verify()
        located = text(lowered, locations=True)
        if "scf.while" not in located:  # xDSL prints its location in the middle
            assert upstream.Module.parse(located).operation.verify()


@pytest.mark.parametrize(
    "name, target", [(name, target) for target in TARGETS for name in sorted(SOURCES if target == "cpu" else FEWER)]
)
def test_library_kernels(name, target):
    try:
        accepted(SOURCES[name], target)
    except KernelError as problem:
        if target == "cpu":
            raise
        pytest.skip(f"the library has no such kernel for {target}: {problem}")


EVERYTHING = {
    **{
        f"arithmetic {d}": (
            f"x = o.load(0, width=4).cast({d})\ny = x * 3 + x - x / 2 - (-x)\no[0] = y.sum().cast(f32) + x[0].cast(f32)"
        )
        for d in FLOATS
    },
    **{
        f"integers {d}": (
            f"x = o.load(0, width=4).cast({d})\ny = (x * 3 + x - (x // 3) % 5) & 7 | x ^ 2 << 1 >> 1\n"
            f"o[0] = y.prod().cast(f32) + abs(x[1]).cast(f32)"
        )
        for d in INTEGERS
    },
    **{
        f"compare {d}": (
            f"x = o.load(0, width=4).cast({d})\no[0] = select((x < 1) | (x == x) & (x != 0), x.cast(f32), 2.0).max()"
        )
        for d in DTYPES
    },
    **{
        f"cast {d}": "\n".join(
            f"o[{k}] = o.load(0, width=4).cast({d}).cast({e})[0].cast(f32) + f32({e}({d}(o[{k}])))"
            for k, e in enumerate(DTYPES)
        )
        for d in DTYPES
    },
    **{
        f"memory {d}": (
            f"s = stack({d}, 8)\ns.store(o.load(0, width=4).cast({d}), 0)\ns[5] = s[1]\n"
            f"o[0] = f32(s.load(2, width=3)[0])"
        )
        for d in DTYPES
    },
    "index": (
        "x = iota(index, 4) + N\n"
        "o[x[1] // 3] = f32((x * 2 % 5 - 1).max()) + f32(x.cast(i32).min()) + f32(index(i8(3)))\n"
        "s = stack(index, 4)\ns[0] = index(1)"
    ),
    "functions of floats": (
        "x = o.load(0, width=4)\n"
        "o.store(fma(sqrt(x), floor(x), ceil(x)) + trunc(x) + roundeven(abs(x))"
        " + copysign(x, -x) + min(x, 1) + fmax(x, 0), 0)"
    ),
    "functions of integers": (
        "x = o.load(0, width=4).cast(i32)\n"
        "o.store((ctlz(x) + cttz(x) + popcount(x) + lshr(x, 2) + umulh(x, x) + max(x, 1)).cast(f32), 0)"
    ),
    "vectors": (
        "x = o.load(0, width=4)\ny = shuffle(x, x[0:2], (5, 0, 3))\no.store(concat(y, o[1]), 0)\n"
        "o[0] = vector(o[0], 2, o[1]).sum() + splat(o[2], 4)[1] + splat(x[2], 3).max()"
    ),
    "lanes": (
        "x = o.load(0, width=4)\nfor i in range(4):\n    x[i] = x[3 - i] + 1\n"
        "o.store(x.insert(2, 9), 0)\no[0] = select(x > 1, x, -x).min()"
    ),
    "bits": (
        "o[0] = f32(o.load(0, width=4).bits(i32).bits(f32)[0]) + f32(word(o.load(0, "
        "width=4).cast(i8), i32)) + f32(o[0].cast(f16).bits(i16))"
    ),
    "bools": (
        "x = o.load(0, width=4) > 0\n"
        "o[0] = f32(x.any() and not x.all()) + f32(max(x, o.load(4, width=4) > 0).min())\n"
        "s = stack(bool, 4)\ns.store(x, 0)"
    ),
    "constants": (
        "o[0] = f32(f32.nan)\no[1] = f32(f32.inf) + f32(-0.0) + f32(1e-45)\n"
        "o.store(iota(f32, 4) + zeros(f32, 4) + full(f32, 0.1, 4), 2)\n"
        "o[3] = f32(f16(65504)) + f32(bf16(1e38)) + f32(f64(1e300))"
    ),
    "control flow": "s, k, t = f32(0), 0, (o[0], [o[1], 2])\nfor i in range(N):\n    if o[i] > 0:\n"
    "        s = s + o[i]\n        k = 3\n    elif o[i] < -1:\n        s = 0.5\n"
    "while s < 100:\n    s = s * 2\n    t = (t[0] + 1, [s, k])\no[k] = s + t[0]\nif s > 3:\n    o[0] = 1.0",
    "functions": (
        "o[0] = shared_function(o[0]) + shared_function(o.load(0, width=4), k=2).sum()\n"
        "outlined_function(stack(f32, 4), o[1])\noutlined_function(o, f32(1))"
    ),
    "atomics": (
        "o.atomic_add(0, 1)\no[1] = o.atomic_add(0, 2)\ns = stack(i64, 1)\ns.atomic_add(0, 3)\n"
        "t = stack(f16, 1)\nt.atomic_add(0, 1)"
    ),
    "raw": "o[0] = intrinsic('llvm.fabs.f32', f32, 1, o[1])\nx = intrinsic('llvm.ctpop.i64', index, 1, N)\n"
    "intrinsic('llvm.prefetch.p0', None, 1, o, i32(0), i32(3), i32(1))\n"
    "y = intrinsic('llvm.vector.deinterleave2.v8f32', f32, 4, o.load(0, width=8), results=2)\n"
    "o.store(y[0] + y[1], 0)\nasm('nop', '', None, 1)\nz = asm('mov $0, $1', '=r,r', i64, 1, x)\n",
    "threads": "o[thread_index()] = f32(thread_count())\nbarrier()\no[0] = 2.0",
    "views": (
        "v = o.reshape((4, 4)).permute((1, 0)).reshape((16,)).slice((15,), (-1,), (16,)).broadcast((2, 16))\n"
        "o.store(v.load(1, 0, width=16), 0)"
    ),
}


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_everything_the_language_can_say(name):
    accepted(kernel(EVERYTHING[name], ARGUMENTS, HEAD))


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_what_only_gpus_have(target):
    body = (
        "launch(blocks=(N, 2), threads=64)\ns = shared(f32, (8, 8))\nt = shared(bool, 4)\ni = thread_index()\n"
        "s[i // 8, i % 8] = o[block_index() + block_index(axis=1)]\n"
        "t[0] = s[0, 0] > 0\nbarrier()\no.store(s.load(0, 0, width=4), block_count() * thread_count())\n"
        "outlined_function(o, s[0, 0])\n"
    )
    accepted(kernel(body, ARGUMENTS, HEAD), target)


@settings(max_examples=300, deadline=None)
@given(expression=EXPRESSIONS)
def test_any_expression_that_elaborates(expression):
    body = f"x = {expression}"
    source = kernel(f"{setup_for(body)}{body}", ARGUMENTS, HEAD)
    try:
        elaborate(source, library=default_library())
    except KernelError:
        return
    accepted(source)
