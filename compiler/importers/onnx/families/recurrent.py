"""Recurrent layers, unrolled over a sequence of known length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.value import Value
from compiler.importers.compose.functions import softplus
from compiler.importers.onnx.node import Handler, Node

_LONGEST = 1024  # steps that are unrolled
Activation = Callable[[Value], Value]


def _activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    a = {"LeakyRelu": 0.01, "HardSigmoid": 0.2, "ThresholdedRelu": 1.0, "Elu": 1.0, "ScaledTanh": 1.0,
         "Affine": 1.0}.get(name, 0.0) if alpha is None else alpha  # fmt: skip
    b = {"HardSigmoid": 0.5, "ScaledTanh": 1.0, "Affine": 0.0}.get(name, 0.0) if beta is None else beta
    table: dict[str, Activation] = {
        "Sigmoid": ops.sigmoid, "Tanh": ops.tanh, "Relu": ops.relu, "Softplus": softplus,
        "LeakyRelu": lambda x: ops.where(ops.less(x, 0), ops.mul(x, a), x),
        "HardSigmoid": lambda x: ops.clip(ops.add(ops.mul(x, a), b), 0, 1),
        "ThresholdedRelu": lambda x: ops.where(ops.greater(x, a), x, ops.zeros_like(x)),
        "Elu": lambda x: ops.where(ops.less(x, 0), ops.mul(ops.expm1(x), a), x),
        "ScaledTanh": lambda x: ops.mul(ops.tanh(ops.mul(x, b)), a), "Affine": lambda x: ops.add(ops.mul(x, a), b),
        "Softsign": lambda x: ops.div(x, ops.add(ops.abs(x), 1)),
    }  # fmt: skip
    if name not in table:
        raise GraphError(f"the activation {name!r} is not known")
    return table[name]


class _Layer:
    """What the three kinds share: inputs in order, directions, sequence lengths, results."""

    def __init__(self, node: Node, gates: int, usual: list[str], states: int) -> None:
        self.node = node
        self.gates = gates
        self.x = node.x()
        self.batch_first = bool(node.attr("layout", 0))
        if self.batch_first:
            self.x = ops.swapaxes(self.x, 0, 1)
        length = self.x.shape[0]
        if isinstance(length, Dim) or length > _LONGEST:
            raise GraphError(f"a sequence of {length} steps; up to {_LONGEST}, known when importing, are unrolled")
        self.length = length
        self.hidden: Any = node.x(2).shape[-1]
        self.direction = node.attr("direction", "forward")
        names = list(node.attr("activations", usual * (2 if self.direction == "bidirectional" else 1)))
        alphas, betas = list(node.attr("activation_alpha", [])), list(node.attr("activation_beta", []))
        self.functions = [
            _activation(name, alphas[at] if at < len(alphas) else None, betas[at] if at < len(betas) else None)
            for at, name in enumerate(names)
        ]
        self.each = len(usual)
        self.clip = node.attr("clip")
        self.states = states

    def limited(self, x: Value) -> Value:
        """Inputs of activations are clipped where the model says so."""
        return x if self.clip is None else ops.clip(x, -self.clip, self.clip)

    def start(self, at: int, way: int) -> Value:
        """A state's first value, zero where none is given."""
        given = self.node.maybe(at)
        if given is None:
            return ops.zeros((self.x.shape[1], self.hidden), self.x.dtype)
        return given[:, way] if self.batch_first else given[way]

    def run(self, step: Callable[..., list[Value]]) -> list[Value]:
        """All directions: `step(x, states, parameters, functions)` gives the new states, the output first."""
        ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(self.direction)
        if ways is None:
            raise GraphError(f"the direction {self.direction!r} is not forward, reverse or bidirectional")
        every, last = [], []
        for way, backwards in enumerate(ways):
            outputs, states = self._one_way(step, way, backwards)
            every.append(ops.stack(outputs, 0))
            last.append(states)
        result = ops.stack(every, 1)  # (length, directions, batch, hidden)
        ends = [ops.stack([states[at] for states in last], 0) for at in range(self.states)]
        if self.batch_first:
            result, ends = ops.transpose(result, (2, 0, 1, 3)), [ops.swapaxes(e, 0, 1) for e in ends]
        return [result, *ends]

    def _one_way(self, step: Callable[..., list[Value]], way: int, backwards: bool) -> tuple[list[Value], list[Value]]:
        node, size = self.node, self.gates * self.hidden
        w, r = node.x(1)[way], node.x(2)[way]
        bias = node.maybe(3)
        b = ops.zeros((2 * size,), self.x.dtype) if bias is None else bias[way]
        functions = self.functions[way * self.each : (way + 1) * self.each]
        parameters = (ops.transpose(w), ops.transpose(r), b[:size], b[size:])
        states = [self.start(5 + at, way) for at in range(self.states)]
        lengths = node.maybe(4)
        outputs: list[Value] = []
        order = reversed(range(self.length)) if backwards else range(self.length)
        for at in order:
            new = step(self.x[at], states, parameters, functions, way)
            output = new[0]
            if lengths is not None:  # beyond its length a sequence has no output and keeps its state
                inside = ops.expand_dims(ops.greater(lengths, at), 1)
                output = ops.where(inside, output, ops.zeros_like(output))
                new = [ops.where(inside, now, old) for now, old in zip(new, states, strict=True)]
            states = new
            outputs.append(output)
        return (outputs[::-1] if backwards else outputs), states


def _rnn(node: Node) -> list[Value]:
    layer = _Layer(node, 1, ["Tanh"], 1)

    def step(x: Value, states: list[Value], p: Any, f: list[Activation], way: int) -> list[Value]:
        total = ops.add(ops.add(ops.matmul(x, p[0]), ops.matmul(states[0], p[1])), ops.add(p[2], p[3]))
        return [f[0](layer.limited(total))]

    return layer.run(step)


def _gru(node: Node) -> list[Value]:
    layer = _Layer(node, 3, ["Sigmoid", "Tanh"], 1)
    after = node.attr("linear_before_reset", 0)
    hidden = layer.hidden

    def step(x: Value, states: list[Value], p: Any, f: list[Activation], way: int) -> list[Value]:
        w, r, wb, rb = p
        h = states[0]
        both = ops.add(ops.matmul(x, w[:, : 2 * hidden]), ops.matmul(h, r[:, : 2 * hidden]))
        both = ops.add(both, ops.add(wb[: 2 * hidden], rb[: 2 * hidden]))
        both = f[0](layer.limited(both))
        update, reset = both[:, :hidden], both[:, hidden:]
        own = ops.add(ops.matmul(x, w[:, 2 * hidden :]), wb[2 * hidden :])
        if after:
            kept = ops.mul(reset, ops.add(ops.matmul(h, r[:, 2 * hidden :]), rb[2 * hidden :]))
        else:
            kept = ops.add(ops.matmul(ops.mul(reset, h), r[:, 2 * hidden :]), rb[2 * hidden :])
        new = f[1](layer.limited(ops.add(own, kept)))
        return [ops.add(ops.mul(ops.sub(1, update), new), ops.mul(update, h))]

    return layer.run(step)


def _lstm(node: Node) -> list[Value]:
    layer = _Layer(node, 4, ["Sigmoid", "Tanh", "Tanh"], 2)
    hidden, coupled, peepholes = layer.hidden, node.attr("input_forget", 0), node.maybe(7)

    def step(x: Value, states: list[Value], p: Any, f: list[Activation], way: int) -> list[Value]:
        h, c = states
        total = ops.add(ops.add(ops.matmul(x, p[0]), ops.matmul(h, p[1])), ops.add(p[2], p[3]))
        i, o, g, cell = (total[:, at * hidden : (at + 1) * hidden] for at in range(4))
        look = None if peepholes is None else peepholes[way]
        if look is not None:
            i, g = ops.add(i, ops.mul(look[:hidden], c)), ops.add(g, ops.mul(look[2 * hidden :], c))
        i, cell = f[0](layer.limited(i)), f[1](layer.limited(cell))
        g = ops.sub(1, i) if coupled else f[0](layer.limited(g))
        new = ops.add(ops.mul(g, c), ops.mul(i, cell))
        if look is not None:
            o = ops.add(o, ops.mul(look[hidden : 2 * hidden], new))
        return [ops.mul(f[0](layer.limited(o)), f[2](new)), new]

    return layer.run(step)


RECURRENT: dict[str, Handler] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}
