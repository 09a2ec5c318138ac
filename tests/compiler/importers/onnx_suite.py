"""ONNX's own backend suite, run through the importer: which cases count, and what comes of one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from compiler import Graph, from_onnx
from compiler.importers.onnx.node import NeedsValueError

PASSING = Path(__file__).with_name("onnx_passing.txt")
Run = Callable[..., list[np.ndarray]]

# What the count leaves aside: control flow, sequences, optionals, strings, random and training ops, types of few bits,
# complex numbers, Fourier transforms and windows, other domains, and cases that repeat another by its definition.
_OPS = frozenset({
    "If", "Loop", "Scan", "Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
    "Multinomial", "DFT", "STFT", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix", "SequenceMap",
    "SequenceInsert", "SplitToSequence", "OptionalHasElement", "OptionalGetElement", "StringNormalizer",
})  # fmt: skip
_TYPES = ("FLOAT8", "FLOAT4", "FLOAT6", "UINT4", "INT4", "UINT2", "INT2", "STRING", "COMPLEX")
_TRAINING = "test_training_"
_LARGE = 10_000  # windows of a pooling that the suite goes through one by one, in Python
_later: dict[int, tuple[np.ndarray, Callable[[], np.ndarray]]] = {}


@dataclass(frozen=True)
class Case:
    """A case of the suite."""

    name: str
    model: Any
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float


@cache
def node_cases() -> dict[str, Case]:
    """The node cases that count, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), _large_poolings_later():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    cases = [Case(c.name, c.model, c.data_sets, c.rtol, c.atol) for c in found]
    return {case.name: case for case in cases if counts(case)}


@contextmanager
def _large_poolings_later() -> Iterator[None]:
    """The suite computes what it expects while it is loaded, and three poolings take nine tenths of that time: those
    are computed when somebody looks at them (`_array`). Nor does it look for the text of its cases."""
    from onnx.backend.test.case import base
    from onnx.reference.ops import op_pool_common

    whole = op_pool_common.pool

    def pool(padded: np.ndarray, x_shape: Sequence[int], *rest: Any, **more: Any) -> np.ndarray:
        made = np.zeros((*x_shape[:2], *rest[2]), padded.dtype)
        if made.size < _LARGE:
            return whole(padded, x_shape, *rest, **more)
        _later[id(made)] = made, partial(whole, padded, x_shape, *rest, **more)
        return made

    with patch.object(op_pool_common, "pool", pool), patch.object(base, "process_snippet", lambda *_: ("", "")):
        yield


def counts(case: Case) -> bool:
    """Whether a case is among those that the importer is measured by."""
    node = case.model.graph.node[-1]
    if "_expanded" in case.name or case.name.startswith(_TRAINING):
        return False
    if node.domain not in ("", "ai.onnx") or node.op_type in _OPS:
        return False
    for value in [*case.model.graph.input, *case.model.graph.output]:
        if value.type.WhichOneof("value") != "tensor_type":
            return False
        if TensorProto.DataType.Name(value.type.tensor_type.elem_type).startswith(_TYPES):
            return False
    return True


def passing() -> list[str]:
    """The names of the cases that are known to pass. The list may only grow."""
    return PASSING.read_text().split()


def imported(model: Any, given: dict[str, np.ndarray]) -> tuple[Graph, list[np.ndarray]]:
    """The model with those inputs fixed that say sizes or axes, and the arrays of the rest."""
    values: dict[str, np.ndarray] = {}
    while True:
        try:
            graph = from_onnx(model, values)
        except NeedsValueError as error:
            needed = {name: given[name] for name in error.inputs if name not in values}
            if not needed:
                raise
            values |= needed
        else:
            return graph, [array for name, array in given.items() if name not in values]


def check(case: Case, run: Run) -> None:
    """Import the case and compare what comes out, with the suite's own tolerances."""
    for inputs, outputs in case.data:
        names = [entry.name for entry in case.model.graph.input]
        given = dict(zip(names, map(_array, inputs), strict=True))
        graph, arrays = imported(case.model, given)
        for result, wanted in zip(run(graph, *arrays), map(_array, outputs), strict=True):
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
            rtol = max(case.rtol, 2**-6) if result.dtype.name == "bfloat16" else case.rtol
            if result.dtype.name == "bfloat16":
                result, wanted = result.astype(np.float32), wanted.astype(np.float32)
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=case.atol)


def _array(value: Any) -> np.ndarray:
    if id(value) in _later:
        made, compute = _later.pop(id(value))
        made[...] = compute()
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def check_against_runtime(case: Case, runtime: Any, run: Run, seed: int) -> bool:
    """Compare with ONNX Runtime on random floats in place of the case's own; False where it is no judge:
    it lacks the op, or does not give what the suite itself says."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.ir_version = min(model.ir_version, 10)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        rng = np.random.default_rng(seed)
        names = [entry.name for entry in model.graph.input]
        given = dict(zip(names, map(_array, case.data[0][0]), strict=True))
        for own, said in zip(session.run(None, given), map(_array, case.data[0][1]), strict=True):
            np.testing.assert_allclose(own, said, rtol=case.rtol, atol=case.atol)
        given = {name: _random_like(array, rng) for name, array in given.items()}
        wanted = session.run(None, given)
    except Exception:  # an opset, op or type that it lacks, or another answer than the suite's
        return False
    graph, arrays = imported(model, given)
    for result, expected in zip(run(graph, *arrays), wanted, strict=True):
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        bound = {2: 4e-3, 4: 1e-4, 8: 1e-9}[result.dtype.itemsize] if result.dtype.kind == "f" else 0
        np.testing.assert_allclose(result, expected, rtol=bound, atol=bound)
    return True


def _random_like(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random floats in the range of those there; other numbers may be sizes or places, and stay."""
    if array.dtype.kind != "f" or not array.size or not np.isfinite(array).all():
        return array
    low, high = float(array.min()), float(array.max())
    return np.asarray(low + (high - low) * rng.random(array.shape)).astype(array.dtype)


def light_models() -> list[Path]:
    """The large models with weights made up by the model itself."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return sorted(folder.glob("*.onnx"))


def check_light(path: Path, run: Run) -> None:
    """Run a light model on the suite's input and compare with its stored output, as the suite's own runner does."""
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    (entry,) = [value for value in model.graph.input if value.name not in weights]
    shape = [dim.dim_value for dim in entry.type.tensor_type.shape.dim]
    image = np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)
    stored = TensorProto()
    stored.ParseFromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    wanted = numpy_helper.to_array(stored)
    (result,) = run(from_onnx(path), image.astype(np.float32))
    np.testing.assert_allclose(result, wanted, rtol=2e-3 if "densenet" in path.name else 1e-3, atol=1e-7)
