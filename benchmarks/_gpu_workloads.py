"""Parts of the GPU benchmark against the best of torch's own kernels and torch.compile: products, reductions, layers.

A row's ratio is the best peer's time over ours; its target is one over what ours may take of that time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from _gpu_bench import Bench, Row
from _gpu_products import on_device, result_of

_BOUNDS = {"f32": 1e-5, "bf16": 1e-2}


def compare(
    bench: Bench, part: str, graph: Any, sets: list[tuple[Any, ...]], peer: Callable[..., Any], limit: float, *,
    work: float = 0.0, moved: float = 0.0, dtype: str = "f32", truth: Callable[..., Any] | None = None,
) -> Row:  # fmt: skip
    """Ours against `peer` run by torch and by torch.compile; right first, on inputs in the widest type that fits."""
    torch = bench.torch
    model = bench.compiled(graph)
    residents = bench.residents(model, [tuple(map(on_device, tensors)) for tensors in sets])
    residents[0].poison()
    residents[0].launch()
    residents[0].synchronize()
    wide = torch.float64 if dtype == "f32" else torch.float32
    with torch.no_grad():
        wanted = (truth or peer)(*(t.to(wide) for t in sets[0])).double()
        error = float((result_of(bench, residents[0], dtype).double() - wanted).norm() / wanted.norm())
        del wanted
        compiled = torch.compile(peer, dynamic=False)
        ways = {
            "ours": [r.launch for r in residents],
            "torch": [lambda s=s: peer(*s) for s in sets],
            "torch.compile": [lambda s=s: compiled(*s) for s in sets],
        }
        times = {name: statistics.median(taken) for name, taken in bench.timer(ways).items()}
    traced = (
        [{t.kernel: round(t.milliseconds * 1e3, 1)} for t in residents[0].trace()] if len(model.functions) > 1 else []
    )
    if traced:
        print("  ", traced)
    bench.close(model, residents)
    torch._dynamo.reset()
    best = min(("torch", "torch.compile"), key=lambda name: times[name])
    unit, amount = ("TFLOP/s", work) if work else ("TB/s", moved)
    rates = amount / times["ours"] / 1e9, amount / times[best] / 1e9
    ratio = times[best] / times["ours"]
    notes = {"us": {name: taken * 1e3 for name, taken in times.items()}, "limit": limit}
    met = ratio >= 1 / limit and error < _BOUNDS[dtype]
    return Row(part, best, unit, *rates, ratio, 1 / limit, met, error, notes)


def _graph(shapes: list[tuple[int, ...]], build: Callable[..., Any], dtype: str) -> Any:
    from compiler import Graph, TensorType

    with Graph("workload", inputs=[TensorType(dtype, shape) for shape in shapes]) as graph:
        graph.output(build(*graph.inputs))
    return graph


def _random(bench: Bench, shapes: list[tuple[int, ...]], dtype: str, sets: int = 2) -> list[tuple[Any, ...]]:
    kinds = {"f32": bench.torch.float32, "bf16": bench.torch.bfloat16}
    return [tuple(bench.random(*shape).to(kinds[dtype]) for shape in shapes) for _ in range(sets)]


def products(bench: Bench) -> list[Row]:
    """f32 products, a bf16 one with what follows it, and one row times a matrix (twice: as it lies, and transposed)."""
    from compiler import ops

    torch, rows = bench.torch, []
    torch.backends.cudnn.allow_tf32 = False  # f32 is f32, as it is in torch's products and in ours
    for n, limit in ((1024, 1.1), (4096, 1.1)):
        shapes = [(n, n), (n, n)]
        rows.append(
            compare(
                bench, f"f32 {n}", _graph(shapes, lambda x, w: x @ w, "f32"), _random(bench, shapes, "f32"),
                lambda x, w: x @ w, limit, work=2.0 * n**3,
            )
        )  # fmt: skip
    shapes = [(4096, 4096), (4096, 4096), (4096,)]
    rows.append(
        compare(
            bench, "relu(x@w+b) 4096", _graph(shapes, lambda x, w, b: ops.relu(x @ w + b), "bf16"),
            _random(bench, shapes, "bf16"), lambda x, w, b: torch.relu(x @ w + b), 1.0, work=2.0 * 4096**3,
            dtype="bf16",
        )
    )  # fmt: skip
    for turned in (False, True):
        shapes = [(1, 4096), (14336, 4096) if turned else (4096, 14336)]
        graph = _graph(shapes, lambda x, w, turned=turned: x @ (ops.transpose(w, (1, 0)) if turned else w), "bf16")
        peer = (lambda x, w: x @ w.t()) if turned else (lambda x, w: x @ w)
        rows.append(
            compare(
                bench, f"matvec{' T' if turned else ''}", graph, _random(bench, shapes, "bf16", 4), peer, 1.05,
                moved=4096 * 14336 * 2.0, dtype="bf16",
            )
        )  # fmt: skip
    shapes = [(16, 64, 56, 56), (64, 64, 3, 3)]
    conv = torch.nn.functional.conv2d
    rows.append(
        compare(
            bench, "conv2d 3x3", _graph(shapes, lambda x, w: ops.conv2d(x, w, padding=1), "f32"),
            _random(bench, shapes, "f32", 3), lambda x, w: conv(x, w, padding=1), 1.2,
            work=2.0 * 16 * 64 * 56 * 56 * 64 * 9,
        )
    )  # fmt: skip
    return rows


def memory(bench: Bench) -> list[Row]:
    """Reductions of rows, columns and everything, a transpose, running sums, GELU: 256 MiB of f32 each."""
    from compiler import ops

    torch, shape = bench.torch, (16384, 4096)
    gelu = torch.nn.functional.gelu
    parts: list[tuple[str, Callable[..., Any], Callable[..., Any], int]] = [
        ("sum rows", lambda x: ops.sum(x, axis=1), lambda x: x.sum(1), 1),
        ("sum columns", lambda x: ops.sum(x, axis=0), lambda x: x.sum(0), 1),
        ("sum all", lambda x: ops.sum(x), lambda x: x.sum(), 1),
        ("transpose+1", lambda x: ops.transpose(x, (1, 0)) + 1, lambda x: (x.t() + 1).contiguous(), 2),
        ("cumsum", lambda x: ops.cumsum(x, axis=1), lambda x: x.cumsum(1), 2),
        ("gelu(tanh)", lambda x: ops.gelu(x, approximate="tanh"), lambda x: gelu(x, approximate="tanh"), 2),
    ]
    sets = _random(bench, [shape], "f32", 3)
    return [
        compare(bench, name, _graph([shape], build, "f32"), sets, peer, 1.05, moved=4.0 * times * 16384 * 4096)
        for name, build, peer, times in parts
    ]


MODEL, HEADS, SHARED, FEATURES, HIDDEN = 4096, 32, 8, 128, 14336


def llama(bench: Bench) -> list[Row]:
    """A layer of Llama 3 8B in bf16 on 1, 512 and 2048 tokens; weights are out x in, as models keep them."""
    rows = []
    for tokens, limit in ((1, 1.0), (512, 1.05), (2048, 1.05)):
        shapes: list[tuple[int, ...]] = [
            (tokens, MODEL), (tokens, FEATURES // 2), (tokens, FEATURES // 2), (MODEL,),
            (HEADS * FEATURES, MODEL), (SHARED * FEATURES, MODEL), (SHARED * FEATURES, MODEL),
            (MODEL, HEADS * FEATURES), (MODEL,), (HIDDEN, MODEL), (HIDDEN, MODEL), (MODEL, HIDDEN),
        ]  # fmt: skip
        graph = _graph(shapes, lambda *given, tokens=tokens: _our_layer(tokens, *given), "bf16")
        sets = _random(bench, shapes, "bf16", 2)
        sets = [tuple(t * t.shape[-1] ** -0.5 if k >= 4 and t.ndim == 2 else t for k, t in enumerate(given))
                for given in sets]  # fmt: skip
        weights = 2.0 * sum(a * b for a, b in (shape for shape in shapes[4:] if len(shape) == 2))  # type: ignore[misc]
        work = tokens * weights + 2.0 * tokens * tokens * MODEL
        peer = lambda *given: _their_layer(bench.torch, *given)  # noqa: E731
        rows.append(compare(bench, f"llama {tokens}", graph, sets, peer, limit, work=work, dtype="bf16"))
    return rows


def _our_layer(tokens: int, x: Any, cos: Any, sin: Any, g1: Any, wq: Any, wk: Any, wv: Any, wo: Any, g2: Any,
               gate: Any, up: Any, down: Any) -> Any:  # fmt: skip
    from compiler import ops

    def linear(t: Any, w: Any) -> Any:
        return t @ ops.transpose(w, (1, 0))

    def heads(t: Any, count: int) -> Any:
        return ops.transpose(ops.reshape(t, (1, tokens, count, FEATURES)), (0, 2, 1, 3))

    normed = ops.rms_norm(x, g1, 1e-5)
    q = ops.rope(heads(linear(normed, wq), HEADS), cos, sin)
    k = ops.rope(heads(linear(normed, wk), SHARED), cos, sin)
    v = heads(linear(normed, wv), SHARED)
    seen = ops.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + linear(ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), (tokens, HEADS * FEATURES)), wo)
    normed = ops.rms_norm(x, g2, 1e-5)
    return x + linear(ops.silu(linear(normed, gate)) * linear(normed, up), down)


def _their_layer(torch: Any, x: Any, cos: Any, sin: Any, g1: Any, wq: Any, wk: Any, wv: Any, wo: Any, g2: Any,
                 gate: Any, up: Any, down: Any) -> Any:  # fmt: skip
    nn = torch.nn.functional
    tokens = x.shape[0]

    def turned(t: Any) -> Any:
        low, high = t.chunk(2, -1)
        return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)

    def heads(t: Any, count: int) -> Any:
        return t.view(1, tokens, count, FEATURES).transpose(1, 2)

    normed = nn.rms_norm(x, (MODEL,), g1, 1e-5)
    q, k = turned(heads(nn.linear(normed, wq), HEADS)), turned(heads(nn.linear(normed, wk), SHARED))
    v = heads(nn.linear(normed, wv), SHARED)
    seen = nn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + nn.linear(seen.transpose(1, 2).reshape(tokens, HEADS * FEATURES), wo)
    normed = nn.rms_norm(x, (MODEL,), g2, 1e-5)
    return x + nn.linear(nn.silu(nn.linear(normed, gate)) * nn.linear(normed, up), down)
