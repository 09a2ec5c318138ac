"""What nodes are made of besides tensors: attributes, opsets, and the bodies of functions.

A function may be the model's own, or come with ONNX: an op that is in no table here but that ONNX defines by simpler
ops is imported as those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from compiler.errors import GraphError, Location, ParseError
from compiler.graph.types import TensorType
from compiler.importers.onnx.node import Tensor
from compiler.importers.onnx.reading import array_of, onnx_package
from compiler.importers.onnx.tables import TABLE

OLDEST, NEWEST = 1, 28
_DEPENDS = "the size of its result depends on the data"
_REASONS = {
    "NonMaxSuppression": _DEPENDS, "Unique": _DEPENDS, "ImageDecoder": "decode the image before the model",
    "StringNormalizer": "strings are not read", "Multinomial": "random ops are not read",
}  # fmt: skip
"""Why an op is not here, where that is more than that nobody has written it."""
_ATTRIBUTE_KINDS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 9: "tensors",
                    10: "graphs"}  # fmt: skip
_ELEMENTS = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11,
             "u32": 12, "u64": 13, "bf16": 16}  # fmt: skip


def domain_of(node: Any) -> str:
    """A node's domain; ONNX's own has two names."""
    return "" if node.domain == "ai.onnx" else node.domain


class Bodies:
    """What a model says of its opsets and functions."""

    def __init__(self, model: Any, file: str) -> None:
        self.model = model
        self.file = file
        self.opsets = {"" if e.domain == "ai.onnx" else e.domain: e.version for e in model.opset_import}
        self.functions = {("" if f.domain == "ai.onnx" else f.domain, f.name): f for f in model.functions}
        self.count = sum(1 for _ in _all_nodes(model.graph)) + sum(len(f.node) for f in model.functions)
        self.schemas: dict[tuple[str, str, int], Any] = {}
        version = self.opsets.get("")
        if version is not None and not OLDEST <= version <= NEWEST:
            raise ParseError(f"opset {version} is not read; this version reads {OLDEST} to {NEWEST}", Location(file))

    def opset(self, domain: str, outer: Mapping[str, Any] | None) -> int:
        """The version of a domain's ops that holds here."""
        if outer is not None:
            found = outer["opsets"].get(domain)
            if found is not None:
                return found
        return self.opsets.get(domain, 1)

    def own(self, domain: str, op: str) -> Any:
        """The model's own function of that name."""
        return self.functions.get((domain, op))

    def outer(self, body: Any, attributes: dict[str, Any], opsets: Mapping[str, int] | None) -> dict[str, Any]:
        """What nodes inside a function see of its call: its attributes, and the opsets it is written for."""
        said = {"" if e.domain == "ai.onnx" else e.domain: e.version for e in body.opset_import}
        filled = {a.name: a for a in getattr(body, "attribute_proto", ())}
        defaults = {name: _attribute(a, None) for name, a in filled.items()}
        return {"attributes": defaults | attributes, "opsets": {**(opsets or {}), **said}}

    def attributes(self, node: Any, outer: Mapping[str, Any] | None, folder: Path | None) -> dict[str, Any]:
        """A node's attributes as plain values; tensors as arrays, graphs as they are."""
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                if outer is not None and attribute.ref_attr_name in outer["attributes"]:
                    found[attribute.name] = outer["attributes"][attribute.ref_attr_name]
                continue
            if attribute.name == "broadcast" and attribute.i:
                raise GraphError("broadcasting as before opset 7 is not read; convert the model to opset 13 or later")
            found[attribute.name] = _attribute(attribute, folder)
        return found

    def of_schema(
        self, node: Any, domain: str, opset: int, inputs: list[Tensor | None], attributes: dict[str, Any]
    ) -> Any:
        """ONNX's own definition of an op by simpler ones."""
        schema = self._schema(domain, node.op_type, opset)
        if schema is not None and schema.has_function:
            return schema.function_body
        if schema is not None and schema.has_context_dependent_function:
            onnx = onnx_package()
            types = [_type_proto(onnx, t) for t in inputs]
            twin = onnx.helper.make_node(node.op_type, list(node.input), list(node.output), domain=node.domain)
            for name, value in attributes.items():
                if not isinstance(value, np.ndarray):
                    twin.attribute.append(onnx.helper.make_attribute(name, value))
            data = schema.get_context_dependent_function(
                twin.SerializeToString(), [t.SerializeToString() for t in types]
            )
            body = onnx.FunctionProto()
            body.ParseFromString(data)
            if body.node:
                return body
        raise GraphError("this version has no such op")

    def _schema(self, domain: str, op: str, opset: int) -> Any:
        key = (domain, op, opset)
        if key not in self.schemas:
            onnx = onnx_package()
            try:
                self.schemas[key] = onnx.defs.get_schema(op, max_inclusive_version=opset, domain=domain)
            except Exception:  # an op or domain that ONNX does not know
                self.schemas[key] = None
        return self.schemas[key]

    def check_known(self) -> None:
        """Name every op that is missing, with a node that needs it, at once."""
        missing: dict[tuple[str, str], tuple[int, str, int]] = {}
        for domain, node in self._nodes():
            key = (domain, node.op_type)
            if (domain == "" and node.op_type in TABLE) or key in self.functions:
                continue
            opset = self.opsets.get(domain, 1)
            schema = self._schema(domain, node.op_type, opset)
            if schema is not None and (schema.has_function or schema.has_context_dependent_function):
                continue
            version, name, count = missing.get(key, (opset, node.name or node.op_type, 0))
            missing[key] = version, name, count + 1
        if not missing:
            return
        listed = []
        for (domain, op), (version, name, count) in sorted(missing.items()):
            more = f" and {count - 1} more" if count > 1 else ""
            why = f": {_REASONS[op]}" if not domain and op in _REASONS else ""
            listed.append(f"{domain + '.' if domain else ''}{op} (opset {version}, node {name!r}{more}{why})")
        word = "an op" if len(listed) == 1 else f"{len(listed)} ops"
        raise GraphError(
            f"the model uses {word} that this version does not have: {', '.join(listed)}", Location(self.file)
        )

    def _nodes(self) -> Iterator[tuple[str, Any]]:
        for node in _all_nodes(self.model.graph):
            yield domain_of(node), node
        for function in self.model.functions:
            for node in function.node:
                yield domain_of(node), node


def _all_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == 5:
                yield from _all_nodes(attribute.g)


def _attribute(attribute: Any, folder: Path | None) -> Any:
    kind = _ATTRIBUTE_KINDS.get(attribute.type)
    if kind is None:
        raise GraphError(f"the attribute {attribute.name!r} has a type that is not read")
    value = getattr(attribute, kind)
    if kind == "t":
        return array_of(value, folder)
    if kind == "s":
        return value.decode("utf-8", "replace")
    if kind in ("floats", "ints"):
        return list(value)
    return [v.decode("utf-8", "replace") for v in value] if kind == "strings" else value


def _type_proto(onnx: Any, tensor: Tensor | None) -> Any:
    made = onnx.TypeProto()
    if tensor is None:
        return made
    if tensor.content is not None:
        dtype, shape = tensor.content.dtype, tensor.content.shape
        number = 7 if dtype.kind == "O" else onnx.helper.np_dtype_to_tensor_dtype(dtype)
    else:
        kind = tensor.value.type
        assert isinstance(kind, TensorType)
        number, shape = _ELEMENTS[kind.dtype], kind.shape
    made.tensor_type.elem_type = number
    made.tensor_type.shape.SetInParent()
    for size in shape:
        dim = made.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        else:
            dim.dim_param = str(size)
    return made
