"""Parts of the GPU benchmark that memory limits: against Triton, torch.compile and a device copy."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from _gpu_bench import Bench, Row, Timer

try:
    import triton
    import triton.language as tl
except ImportError:  # the part that needs it says so
    triton = None
else:

    @triton.jit
    def grey_kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        red = tl.load(x + at, mask=mask)
        green = tl.load(x + n + at, mask=mask)
        blue = tl.load(x + 2 * n + at, mask=mask)
        tl.store(out + at, red * 0.299 + green * 0.587 + blue * 0.114, mask=mask)


def grayscale(bench: Bench) -> list[Row]:
    """3x16000x16000 f32 to grey, against a Triton kernel (the best of a few block shapes)."""
    from compiler import Graph, TensorType

    if triton is None:
        raise RuntimeError("Triton is not installed")
    torch, height, width = bench.torch, 16000, 16000
    with Graph("grayscale", inputs=[TensorType("f32", (3, height, width))]) as graph:
        (x,) = graph.inputs
        graph.output(x[0] * 0.299 + x[1] * 0.587 + x[2] * 0.114)
    inputs = [bench.random(3, height, width) for _ in range(2)]
    outputs = [torch.empty(height, width, device="cuda") for _ in range(2)]
    count = height * width

    def peer(block: int, warps: int) -> list[Callable[[], Any]]:
        grid = (triton.cdiv(count, block),)
        return [
            lambda a=a, b=b: grey_kernel[grid](a, b, count, BLOCK=block, num_warps=warps)
            for a, b in zip(inputs, outputs)
        ]

    shapes = {f"{b}/{w}": peer(b, w) for b, w in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 8), (8192, 16))}
    tried = Timer(torch, 7)(shapes)
    best = min(tried, key=lambda name: statistics.median(tried[name]))
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x,) for x in inputs])
    weights = torch.tensor([0.299, 0.587, 0.114], device="cuda", dtype=torch.float64)
    error = bench.check(residents[0], lambda p: torch.einsum("chw,c->hw", p, weights), inputs[0], axis=1)
    times = bench.timer({"ours": [r.launch for r in residents], "peer": shapes[best]})
    row = bench.bandwidth_row("grayscale", f"triton {best}", times, 4 * count * 4, 0.98, error)
    bench.close(model, residents)
    return [row]


def _rows(bench: Bench, part: str, graph: Any, function: Any, double: Any, extra: tuple[Any, ...]) -> list[Row]:
    """A row-wise op on 16384x4096 f32, against torch.compile."""
    torch = bench.torch
    inputs = [bench.random(16384, 4096) for _ in range(3)]
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x, *extra) for x in inputs])
    error = bench.check(residents[0], double, inputs[0])
    copies = [torch.empty_like(x) for x in inputs]
    with torch.no_grad():
        compiled = torch.compile(function)
        ways = {
            "ours": [r.launch for r in residents],
            "peer": [lambda x=x: compiled(x, *extra) for x in inputs],
            "copy": [lambda a=a, b=b: b.copy_(a) for a, b in zip(inputs, copies)],
        }
        times = bench.timer(ways)
    row = bench.bandwidth_row(part, "torch.compile", times, 2 * inputs[0].nbytes, 1.0, error)
    bench.close(model, residents)
    return [row]


def softmax(bench: Bench) -> list[Row]:
    """Softmax of 16384 rows of 4096."""
    from compiler import Graph, TensorType, ops

    with Graph("softmax", inputs=[TensorType("f32", (16384, 4096))]) as graph:
        graph.output(ops.softmax(graph.inputs[0], axis=-1))
    function = lambda x: bench.torch.softmax(x, -1)  # noqa: E731
    return _rows(bench, "softmax", graph, function, function, ())


def layernorm_gelu(bench: Bench) -> list[Row]:
    """Layer norm and (erf) GELU of 16384 rows of 4096."""
    from compiler import Graph, TensorType, ops

    types = [TensorType("f32", (16384, 4096)), TensorType("f32", (4096,)), TensorType("f32", (4096,))]
    with Graph("layernorm_gelu", inputs=types) as graph:
        x, w, b = graph.inputs
        graph.output(ops.gelu(ops.layer_norm(x, w, b, 1e-5)))
    nn = bench.torch.nn.functional
    weight, bias = bench.random(4096), bench.random(4096)

    def function(x: Any, w: Any, b: Any) -> Any:
        return nn.gelu(nn.layer_norm(x, (4096,), w, b, 1e-5))

    double = lambda x: function(x, weight.double(), bias.double())  # noqa: E731
    return _rows(bench, "layernorm-gelu", graph, function, double, (weight, bias))


def _chain(
    bench: Bench, part: str, apply: Callable[[Any, Any], Any], double: Callable[[Any], Any], target: float
) -> list[Row]:
    """Ten elementwise ops over 1 GiB, against a device copy of it."""
    from compiler import Graph, TensorType, ops

    rows, columns = 16384, 16384
    with Graph(part.replace("-", "_"), inputs=[TensorType("f32", (rows, columns))]) as graph:
        graph.output(apply(graph.inputs[0], ops))
    inputs = [bench.random(rows, columns) for _ in range(2)]
    copies = [bench.torch.empty_like(x) for x in inputs]
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x,) for x in inputs])
    error = bench.check(residents[0], double, inputs[0])
    copying = [lambda a=a, b=b: b.copy_(a) for a, b in zip(inputs, copies)]
    times = bench.timer({"ours": [r.launch for r in residents], "peer": copying})
    row = bench.bandwidth_row(part, "device copy", times, 2 * inputs[0].nbytes, target, error)
    bench.close(model, residents)
    return [row]


def chain(bench: Bench) -> list[Row]:
    """Ten plain arithmetic ops."""
    torch = bench.torch

    def apply(x: Any, ops: Any) -> Any:
        y = ops.abs(x * 1.5 + 0.25)
        y = ops.sqrt(ops.maximum(y - 0.125, 0.5))
        return ops.minimum(ops.square(y) * 0.75, 8.0) - 1.0

    def double(x: Any) -> Any:
        y = ((x * 1.5 + 0.25).abs() - 0.125).clamp(min=0.5).sqrt()
        return torch.clamp(y * y * 0.75, max=8.0) - 1.0

    return _chain(bench, "chain", apply, double, 0.95)


def chain_exp(bench: Bench) -> list[Row]:
    """Ten ops of which three are transcendental."""
    torch = bench.torch

    def apply(x: Any, ops: Any) -> Any:
        y = ops.tanh(x * 0.5 + 0.25) * 2.0
        y = ops.exp(-ops.abs(y)) + 1.0
        return ops.log(y) - 0.125

    return _chain(
        bench, "chain-exp", apply,
        lambda x: torch.log(torch.exp(-(torch.tanh(x * 0.5 + 0.25) * 2).abs()) + 1) - 0.125, 0.95,
    )  # fmt: skip
