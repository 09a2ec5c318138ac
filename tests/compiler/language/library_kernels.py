"""A source for every kernel of the library that ships, so that what holds for all of them can be asked of each."""

from __future__ import annotations

from compiler.language.library import default_library

DTYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool")
_F = "Tensor[f32, ({})]"


def _kernel(call: str, *types: str) -> str:
    names = ["out", *"abcd"[: len(types) - 1]]
    arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    return f"@kernel\ndef kernel({arguments}):\n    {call}\n"


def _f32(*shapes: str) -> list[str]:
    return [_F.format(shape) for shape in shapes]


def _elementwise(function: str, dtype: str, count: int = 1, result: str | None = None) -> str:
    kind = f"Tensor[{dtype}, (M, 37)]"
    loads = ", ".join(f"{name}[at]" for name in "abcd"[:count])
    call = f"elementwise(out, FusedInput(lambda at: {function.replace('...', loads)}, {result or dtype}, (M, 37)))"
    return _kernel(call, f"Tensor[{result or dtype}, (M, 37)]", *[kind] * count)


SOURCES = {
    "matmul": _kernel("matmul(out, a, b)", *_f32("M, 48", "M, 33", "33, 48")),
    "matmul deep": _kernel("matmul(out, a, b)", *_f32("3, M, N", "3, M, K", "3, K, N")),
    "matmul row": _kernel("matmul(out, a, b)", *_f32("1, 48", "1, K", "K, 48")),
    "matmul bf16": _kernel("matmul(out, a, b)", *[f"Tensor[bf16, ({s})]" for s in ("64, 64", "64, 64", "64, 64")]),
    "softmax": _kernel("softmax(out, a, axis=1)", *_f32("M, 100", "M, 100")),
    "log_softmax": _kernel("log_softmax(out, a, axis=0)", *_f32("M, 10", "M, 10")),
    "softmax long": _kernel("softmax(out, a, axis=1)", *_f32("M, N", "M, N")),
    "attention": _kernel(
        "attention(out, a, b, c, is_causal=True, scale=0.125, enable_gqa=False)", *_f32(*["2, 4, S, 64"] * 4)
    ),
    "masked attention": _kernel(
        "masked_attention(out, a, b, c, d, is_causal=False, scale=0.3, enable_gqa=True)",
        *_f32("2, 4, 9, 16", "2, 4, 9, 16", "2, 2, 9, 16", "2, 2, 9, 16", "2, 4, 9, 9"),
    ),
    "conv2d": _kernel(
        "conv2d(out, a, b, stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1)",
        *_f32("B, 8, 14, 14", "B, 3, 14, 14", "8, 3, 3, 3"),
    ),
    "conv2d depthwise": _kernel(
        "conv2d(out, a, b, stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=8)",
        *_f32("1, 8, 7, 7", "1, 8, 14, 14", "8, 1, 3, 3"),
    ),
    "max_pool2d": _kernel(
        "max_pool2d(out, a, kernel=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(1, 1))",
        *_f32("1, 8, 7, 7", "1, 8, 14, 14"),
    ),
    "avg_pool2d": _kernel(
        "avg_pool2d(out, a, kernel=(2, 2), stride=(2, 2), padding=(0, 0), count_include_pad=False)",
        *_f32("1, 8, 7, 7", "1, 8, 14, 14"),
    ),
    "layer_norm": _kernel("layer_norm(out, a, b, c, eps=1e-5)", *_f32("M, 768", "M, 768", "768", "768")),
    "rms_norm": _kernel("rms_norm(out, a, b, eps=1e-5)", *_f32("M, N", "M, N", "N")),
    "argmax": _kernel("argmax(out, a, axis=1)", "Tensor[i64, (M,)]", _F.format("M, 50")),
    "argmin": _kernel("argmin(out, a, axis=0)", "Tensor[i64, (50,)]", _F.format("M, 50")),
    "merge_runs": _kernel(
        "merge_runs(out, a, b, c, descending=True)",
        "Tensor[i64, (M, 50)]",
        "Tensor[i64, (M, 50)]",
        _F.format("M, 50"),
        "Tensor[i64, (1,)]",
    ),
    "scatter_sorted": _kernel(
        "scatter_sorted(out, a, b, c, d, reduction='add')",
        *_f32("M, 6", "M, 6"),
        "Tensor[i64, (9,)]",
        "Tensor[i64, (9,)]",
        _F.format("9, 6"),
    ),
    "cumsum": _kernel("cumsum(out, a, axis=1)", *_f32("M, 50", "M, 50")),
    **{
        f"{name} {axes}": _kernel(f"{name}(out, a, axes={axes})", *_f32(out, "M, 5, 70"))
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
        for axes, out in (("(2,)", "M, 5"), ("(0,)", "5, 70"), ("(0, 1, 2)", ""))
    },
    "gelu tanh": _elementwise("gelu(..., approximate='tanh')", "bf16"),
    "gelu": _elementwise("gelu(..., approximate='none')", "f32"),
    "where": _elementwise("where(a[at] > 0, ...)", "f16", 2),
    **{f"cast {a} {b}": _elementwise(f"cast(..., dtype={b})", a, 1, b) for a in DTYPES for b in DTYPES},
    "pad": _kernel(
        "elementwise(out, FusedInput(lambda at: pad(at, a, low=(1, 2), high=(1, 0), value=0.5), f32, (M + 2, 12)))",
        *_f32("M + 2, 12", "M, 10"),
    ),
    "concatenate": _kernel(
        "elementwise(out, FusedInput(lambda at: concatenate(at, a, b, axis=1), f32, (M, 30)))",
        *_f32("M, 30", "M, 10", "M, 20"),
    ),
    "gather": _kernel(
        "elementwise(out, FusedInput(lambda at: gather(at, a, b, axis=0), f32, (7, 10)))",
        _F.format("7, 10"),
        _F.format("M, 10"),
        "Tensor[i64, (7,)]",
    ),
    "tile": _kernel(
        "elementwise(out, FusedInput(lambda at: tile(at, a, repeats=(2, 3)), f32, (8, 30)))", *_f32("8, 30", "4, 10")
    ),
    "count_along": _kernel(
        "elementwise(out, FusedInput(lambda at: count_along(at, shape=(4, 9), axis=1, dtype=i32), i32, (4, 9)))",
        "Tensor[i32, (4, 9)]",
    ),
    "rope": _kernel(
        "elementwise(out, FusedInput(lambda at: rope(at, a, b, c, interleaved=False, result=f32), f32, (2, S, 16)))",
        *_f32("2, S, 16", "2, S, 16", "S, 8", "S, 8"),
    ),
    "views": _kernel(
        "elementwise(out, broadcast_to(transpose(reshape(strided_slice(a, starts=(9, 0), steps=(-2, 1), shape=(4, 6)), "
        "shape=(2, 12)), perm=(1, 0)), shape=(3, 12, 2)))",
        *_f32("3, 12, 2", "10, 6"),
    ),
}


_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "logical_not")
_INTEGERS_ONLY = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")


def _every_elementwise() -> dict[str, str]:
    """Each elementwise function without parameters, on a dtype that it is for."""
    found: dict[str, str] = {}
    library = default_library()
    for name in library.names():
        function = library.find(name)
        if function is not None and function.kind == "elementwise" and not function.parameters and name != "where":
            dtype = "bool" if name == "logical_not" else "i32" if name in _INTEGERS_ONLY else "f32"
            result = "bool" if name in _COMPARISONS else dtype
            found[name] = _elementwise(f"{name}(...)", dtype, len(function.arguments), result)
    return found


SOURCES |= _every_elementwise()
# Casts say little about a target that the others do not.
FEWER = {name: source for name, source in SOURCES.items() if not name.startswith("cast ") or name == "cast f32 i8"}
