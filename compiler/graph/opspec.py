"""One record per op kind: its operands, attributes and rule. The dialect, the builders and the reference share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES
from compiler.graph.infer import effects, elementwise, indexing, networks, reductions, views
from compiler.graph.infer.rules import ANY, BITS, BOOL, FLOATS, NUMBERS, Infer
from compiler.graph.types import TensorType, Type

MANY = 1 << 30


@dataclass(frozen=True)
class OpSpec:
    """What an op is. `attrs` maps each attribute's name to its kind; `infer` is None when result types are declared."""

    name: str
    infer: Infer | None
    attrs: Mapping[str, str] = field(default_factory=dict)
    operands: tuple[int, int] = (1, 1)
    effects: bool = False
    open_attrs: bool = False

    @property
    def short(self) -> str:
        """The name without the dialect: `add`."""
        return self.name[3:]

    def completed(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The attributes with None for those that are absent."""
        absent = [name for name in self.attrs if name not in attrs]
        return {**attrs, **dict.fromkeys(absent)} if absent else attrs

    def disagreement(self, operands: Sequence[Any], attrs: Mapping[str, Any], results: Sequence[Any]) -> str:
        """What is wrong with an op whose results were declared to have these types; nothing if all is well."""
        types = self.check(operands, attrs)
        if types is None or tuple(types) == tuple(results):
            return ""
        said, wanted = (", ".join(map(str, t)) for t in (results, types))
        return f"{self.name}: result type must be {wanted}, not {said}"

    def check(self, operand_types: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Type, ...] | None:
        """Everything `infer` takes for granted, then `infer`: for ops that come from text. None: types are declared."""
        low, high = self.operands
        if not low <= len(operand_types) <= high:
            wanted = f"{low}" if low == high else f"at least {low}" if high == MANY else f"{low} to {high}"
            raise GraphError(f"{self.name}: takes {wanted} operands, not {len(operand_types)}")
        for name, kind in self.attrs.items():
            if attrs.get(name) is None and not kind.endswith("?"):
                raise GraphError(f"{self.name}: lacks the attribute {name!r}")
        for name, value in attrs.items():
            if name not in self.attrs and not self.open_attrs:
                raise GraphError(f"{self.name}: has no attribute {name!r}")
            kind = self.attrs.get(name)
            if kind is not None and not _KINDS[kind](value):
                raise GraphError(f"{self.name}: attribute {name!r} must be {_SAID[kind]}")
        if self.infer is None:
            return None
        if not self.effects:
            for type in operand_types:
                if not isinstance(type, TensorType):
                    raise GraphError(f"{self.name}: takes tensors, not {type}")
        return self.infer(operand_types, attrs)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sizes(value: Any) -> bool:
    return isinstance(value, tuple) and all(_whole(v) or isinstance(v, Dim) for v in value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": _whole,
    "ints": lambda v: isinstance(v, tuple) and all(map(_whole, v)),
    "dims": _sizes,
    "float": lambda v: isinstance(v, float),
    "float?": lambda v: v is None or isinstance(v, float),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "dtype": lambda v: isinstance(v, str) and v in DTYPES,
    "scalar": lambda v: isinstance(v, (bool, int, float)),
    "array": lambda v: isinstance(v, np.ndarray),
}
_SAID = {"int": "a whole number", "ints": "a list of whole numbers", "dims": "a list of sizes", "float": "a float",
         "float?": "a float", "bool": "true or false", "str": "a string", "dtype": "a dtype name", "scalar": "a number",
         "array": "an array"}  # fmt: skip

SPECS: dict[str, OpSpec] = {}


def _add(short: str, infer: Infer | None, operands: int | tuple[int, int] = 1, **more: Any) -> None:
    name = f"mo.{short}"
    span = operands if isinstance(operands, tuple) else (operands, operands)
    attrs = {key: value for key, value in more.items() if key not in ("effects", "open_attrs")}
    flags = {key: value for key, value in more.items() if key in ("effects", "open_attrs")}
    SPECS[name] = OpSpec(name, infer, attrs, span, **flags)


FLOAT_UNARY = ("exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "silu", "exp2", "log2",
               "expm1", "reciprocal", "floor", "ceil", "round", "trunc")  # fmt: skip
NUMBER_UNARY = ("abs", "neg", "relu", "square", "sign")
NUMBER_BINARY = ("add", "sub", "mul", "floordiv", "mod", "pow", "minimum", "maximum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _register() -> None:
    for short in FLOAT_UNARY:
        _add(short, elementwise.unary(f"mo.{short}", FLOATS))
    for short in NUMBER_UNARY:
        _add(short, elementwise.unary(f"mo.{short}", NUMBERS))
    _add("gelu", elementwise.gelu, approximate="str")
    for short in ("isnan", "isinf"):
        _add(short, elementwise.unary(f"mo.{short}", FLOATS, "bool"))
    _add("logical_not", elementwise.unary("mo.logical_not", BOOL))
    _add("bitwise_not", elementwise.unary("mo.bitwise_not", BITS))
    _add("cast", elementwise.cast, dtype="dtype")
    for short in NUMBER_BINARY:
        _add(short, elementwise.binary(f"mo.{short}", NUMBERS), 2)
    _add("div", elementwise.binary("mo.div", FLOATS), 2)
    for short in COMPARISONS:
        _add(short, elementwise.binary(f"mo.{short}", ANY, "bool"), 2)
    for short in ("and", "or", "xor"):
        _add(short, elementwise.binary(f"mo.{short}", BITS), 2)
    _add("where", elementwise.where, 3)
    _add("matmul", networks.matmul, 2)
    _add("reduce_sum", reductions.reduction("mo.reduce_sum", NUMBERS, True), axes="ints")
    _add("reduce_mean", reductions.reduction("mo.reduce_mean", FLOATS, True), axes="ints")
    _add("reduce_prod", reductions.reduction("mo.reduce_prod", NUMBERS, True), axes="ints")
    _add("reduce_max", reductions.reduction("mo.reduce_max", NUMBERS, False), axes="ints")
    _add("reduce_min", reductions.reduction("mo.reduce_min", NUMBERS, False), axes="ints")
    for short in ("argmax", "argmin"):
        _add(short, reductions.arg_reduction(f"mo.{short}"), axis="int")
    _add("cumsum", reductions.along_axis("mo.cumsum", NUMBERS), axis="int")
    for short in ("softmax", "log_softmax"):
        _add(short, reductions.along_axis(f"mo.{short}", FLOATS), axis="int")
    _add("layer_norm", reductions.norm("mo.layer_norm"), 3, eps="float")
    _add("rms_norm", reductions.norm("mo.rms_norm"), 2, eps="float")
    _add("reshape", views.reshape, shape="dims")
    _add("transpose", views.transpose, perm="ints")
    _add("broadcast_to", views.broadcast_to, shape="dims")
    _add("slice", views.slice, starts="dims", steps="ints", shape="dims")
    _add("concat", indexing.concat, (1, MANY), axis="int")
    _add("pad", indexing.pad, low="dims", high="dims", value="scalar")
    _add("gather", indexing.gather, 2, axis="int")
    _add("tile", indexing.tile, repeats="dims")
    _add("iota", indexing.iota, 0, shape="dims", axis="int", dtype="dtype")
    _add("constant", indexing.constant, 0, value="array")
    window: dict[str, Any] = {"stride": "ints", "padding": "ints"}
    _add("conv2d", networks.conv2d, 2, **window, dilation="ints", groups="int")
    _add("max_pool2d", networks.pool2d("mo.max_pool2d", NUMBERS), kernel="ints", **window, dilation="ints")
    _add("avg_pool2d", networks.pool2d("mo.avg_pool2d", FLOATS), kernel="ints", **window, count_include_pad="bool")
    _add("rope", networks.rope, 3, interleaved="bool")
    _add(
        "scaled_dot_product_attention", networks.attention, (3, 4), is_causal="bool", scale="float?", enable_gqa="bool"
    )
    _add("chain", effects.chain, 0, effects=True)
    _add("buffer_load", effects.buffer_load, 2, effects=True)
    _add("buffer_store", effects.buffer_store, 3, effects=True)
    _add("custom", None, (0, MANY), kernel="str", open_attrs=True)


_register()
