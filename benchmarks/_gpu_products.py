"""Parts of the GPU benchmark that tensor cores limit: products and attention of 16-bit floats, against torch's own."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from _gpu_bench import Bench, Row

_BOUND = 1e-2  # relative error of bf16 operands, summed in f32


class _OnDevice:
    """A torch tensor as the launcher takes it: torch's own array interface has no name for bf16."""

    def __init__(self, tensor: Any) -> None:
        import ml_dtypes

        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape), "typestr": ml_dtypes.bfloat16, "data": (tensor.data_ptr(), False),
            "version": 3, "strides": None,
        }  # fmt: skip


def on_device(tensor: Any) -> Any:
    """A torch tensor as the launcher takes it."""
    return _OnDevice(tensor) if str(tensor.dtype) == "torch.bfloat16" else tensor


def result_of(bench: Bench, resident: Any, dtype: str = "bf16") -> Any:
    """What a resident computed, as a torch tensor."""
    made = resident.outputs()[0]
    if dtype == "f32":
        return bench.torch.as_tensor(made, device="cuda")
    holder = type("Words", (), {})()
    holder.__cuda_array_interface__ = {
        "shape": made.shape, "typestr": "<i2", "data": (made.pointer, False), "version": 3, "strides": None,
    }  # fmt: skip
    return bench.torch.as_tensor(holder, device="cuda").view(bench.torch.bfloat16)


def _row(
    bench: Bench, part: str, graph: Any, sets: list[tuple[Any, ...]], peer: Callable[..., Any],
    truth: Callable[..., Any], work: float, target: float,
) -> Row:  # fmt: skip
    model = bench.compiled(graph)
    residents = bench.residents(model, [tuple(map(_OnDevice, tensors)) for tensors in sets])
    residents[0].poison()
    residents[0].launch()
    residents[0].synchronize()
    wanted = truth(*sets[0]).double()
    error = float((result_of(bench, residents[0]).double() - wanted).norm() / wanted.norm())
    times = bench.timer({"ours": [r.launch for r in residents], "peer": [lambda s=s: peer(*s) for s in sets]})
    ours, theirs = statistics.median(times["ours"]), statistics.median(times["peer"])
    bench.close(model, residents)
    rates = work / ours / 1e9, work / theirs / 1e9
    met = rates[0] / rates[1] >= target and error < _BOUND
    return Row(part, "torch", "TFLOP/s", *rates, rates[0] / rates[1], target, met, error, {"us": ours * 1e3})


def matmul(bench: Bench) -> list[Row]:
    """Products of bf16 matrices: square, one fitting no tile, one whose right side is transposed, two of few."""
    from compiler import Graph, TensorType, ops

    torch, rows = bench.torch, []
    for m, k, n, turned, target in (
        (1024, 1024, 1024, False, 1 / 1.3), (2048, 2048, 2048, False, 1 / 1.15), (4096, 4096, 4096, False, 1 / 1.05),
        (8192, 8192, 8192, False, 1 / 1.05), (4096, 4096, 4096, True, 1 / 1.05), (4095, 4099, 4097, False, 1 / 1.15),
        (16, 14336, 4096, True, 1 / 1.15), (512, 4096, 512, False, 1 / 1.15),
    ):  # fmt: skip
        right = (n, k) if turned else (k, n)
        with Graph("matmul", inputs=[TensorType("bf16", (m, k)), TensorType("bf16", right)]) as graph:
            x, w = graph.inputs
            graph.output(x @ (ops.transpose(w, (1, 0)) if turned else w))
        sets = [(bench.random(m, k).bfloat16(), bench.random(*right).bfloat16()) for _ in range(2)]

        def product(x: Any, w: Any, turned: bool = turned) -> Any:
            return x @ (w.t() if turned else w)

        name = f"{m}x{k}x{n}{' T' if turned else ''}"
        truth = lambda x, w, product=product: product(x.float(), w.float())  # noqa: E731
        rows.append(_row(bench, name, graph, sets, product, truth, 2.0 * m * k * n, target))
        torch.cuda.empty_cache()
    return rows


def attention(bench: Bench) -> list[Row]:
    """Causal attention of 32 heads, all of their own keys and eight shared; and a shorter head without a mask."""
    from compiler import Graph, TensorType, ops

    functional, rows = bench.torch.nn.functional, []
    for batch, heads, shared, length, size, causal in (
        (4, 32, 32, 2048, 128, True), (4, 32, 8, 2048, 128, True), (4, 32, 32, 2048, 64, False),
    ):  # fmt: skip
        shapes = [(batch, heads, length, size), *[(batch, shared, length, size)] * 2]
        options = {"is_causal": causal, "enable_gqa": heads != shared}
        with Graph("attention", inputs=[TensorType("bf16", shape) for shape in shapes]) as graph:
            graph.output(ops.scaled_dot_product_attention(*graph.inputs, **options))
        sets = [tuple(bench.random(*shape).bfloat16() for shape in shapes) for _ in range(2)]

        def peer(q: Any, k: Any, v: Any, options: Any = options) -> Any:
            return functional.scaled_dot_product_attention(q, k, v, **options)

        truth = lambda *tensors, peer=peer: peer(*(tensor.float() for tensor in tensors))  # noqa: E731
        work = 4.0 * batch * heads * length * length * size / (2 if causal else 1)
        name = f"{heads}/{shared}x{length}x{size}{' causal' if causal else ''}"
        rows.append(_row(bench, name, graph, sets, peer, truth, work, 1 / 1.25))
        bench.torch.cuda.empty_cache()
    return rows
