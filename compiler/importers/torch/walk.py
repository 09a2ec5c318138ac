"""Walking an exported program: inputs, weights, calls in order, changed buffers, into one graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.errors import CompilerError, GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim, floordiv, maximum, minimum, mod, symbol
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.graph.value import Value
from compiler.importers.modules import module_of_stack
from compiler.importers.names import name_after, plain_name
from compiler.importers.torch.call import Call, constant, dtype_name
from compiler.importers.torch.tables import TABLE

_ON_SIZES: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": floordiv, "mod": mod,
    "neg": operator.neg, "sym_max": maximum, "sym_min": minimum, "eq": operator.eq, "ne": operator.ne,
    "sym_not": operator.not_,
}  # fmt: skip
_NAMESPACES = ("aten", "transformers")  # the second has what stands in for an op that a device lacks
_REGIONS = frozenset({"wrap_with_set_grad_enabled", "wrap_with_autocast"})
_SAYS_NOTHING = frozenset({"_assert_tensor_metadata", "sym_constrain_range_for_size", "_assert_scalar",
                           "sym_constrain_range", "_assert_async"})  # fmt: skip


def _name_of(text: str) -> str:
    return plain_name(text) or "_"


class Walk:
    """The import of one exported program."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.signature = program.graph_signature
        self.sizes = _Sizes(program)
        self.values: dict[str, Any] = {}

    def graph(self) -> Graph:
        """The program as a graph."""
        self._check_known()
        nodes = list(self.program.graph.nodes)
        changed = set(self.signature.buffers_to_mutate.values())
        inputs: dict[str, Any] = {}
        buffers: dict[str, str] = {}  # placeholder by buffer
        weights: dict[str, Any] = {}
        for node in nodes:
            if node.op != "placeholder":
                continue
            found = self._state(node.name)
            if found is not None and found[0] in changed:
                buffers[found[0]] = node.name
                value = node.meta["val"]
                inputs[node.name] = BufferType(dtype_name(value.dtype), self.sizes.shape(value.shape))
            elif found is not None:
                weights[node.name] = found
            elif _is_tensor(node.meta.get("val")):
                value = node.meta["val"]
                inputs[node.name] = TensorType(dtype_name(value.dtype), self.sizes.shape(value.shape))
            else:  # a number that the export fixed
                self.values[node.name] = node.meta.get("val")
        # The module's own inputs come first, what it changes after them.
        names = [n for n in inputs if n not in buffers.values()] + list(buffers.values())
        labels = {placeholder: _name_of(name) for name, placeholder in buffers.items()}
        made = Graph("model", [inputs[n] for n in names], input_names=[labels.get(n, _name_of(n)) for n in names])
        self.made = made
        with made:
            by_name = dict(zip(names, made.inputs, strict=True))
            for name, value in by_name.items():
                self.values[name] = ops.buffer_load(value) if name in labels else value
            for name, (label, tensor) in weights.items():
                self.values[name] = _Weight(label, tensor)
            self._calls(self.program.graph_module)
            outputs = self._outputs(nodes[-1], {name: by_name[placeholder] for name, placeholder in buffers.items()})
        made.output(*outputs)
        return made

    def _state(self, placeholder: str) -> tuple[str, Any] | None:
        """The weight, buffer or constant behind a placeholder, with its name in the module."""
        signature, program = self.signature, self.program
        name = signature.inputs_to_parameters.get(placeholder) or signature.inputs_to_buffers.get(placeholder)
        if name is not None:
            return name, program.state_dict[name] if name in program.state_dict else program.constants[name]
        name = signature.inputs_to_lifted_tensor_constants.get(placeholder)
        return None if name is None else (name, program.constants[name])

    def _check_known(self) -> None:
        """Name every op that is missing at once."""
        missing: dict[str, str] = {}
        left = [self.program.graph_module]
        while left:
            module = left.pop()
            for node in module.graph.nodes:
                if node.op == "call_function" and _known_name(node.target) is None:
                    missing.setdefault(str(node.target), node.name)
                elif node.op == "get_attr" and hasattr(getattr(module, node.target), "graph"):
                    left.append(getattr(module, node.target))
        if missing:
            listed = ", ".join(f"{op} (node {name!r})" for op, name in sorted(missing.items()))
            word = "an op" if len(missing) == 1 else f"{len(missing)} ops"
            raise GraphError(f"the model uses {word} that this version does not have: {listed}")

    def _calls(self, module: Any) -> None:
        """Every call of a module's graph in order; what it holds itself is at hand."""
        for node in module.graph.nodes:
            if node.op == "get_attr":
                held = getattr(module, node.target)
                self.values[node.name] = held if hasattr(held, "graph") else _Weight(node.target, held)
            elif node.op == "call_function":
                self._call(node)

    def _inlined(self, args: list[Any]) -> Any:
        """A region that only says how gradients or precision are kept: its graph in place."""
        at = next(
            at for at, argument in enumerate(args) if hasattr(argument, "graph") and not isinstance(argument, Value)
        )
        module, given = args[at], iter(args[at + 1 :])
        around, self.values = self.values, {}
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.values[node.name] = next(given)
        self._calls(module)
        results = self._resolved(list(module.graph.nodes)[-1].args[0])
        self.values = around
        return results

    def _call(self, node: Any) -> None:
        name = _known_name(node.target)
        assert name is not None
        if name in _SAYS_NOTHING:
            return
        args = [self._resolved(a) for a in node.args]
        kwargs = {key: self._resolved(a) for key, a in node.kwargs.items()}
        start = len(self.made.ops)
        self.made.module = module_of_stack(_modules(node))
        try:
            self.values[node.name] = self._made(node, name, args, kwargs)
        except CompilerError as error:
            raise GraphError(f"node {node.name!r} ({node.target}): {error.message}") from error
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise GraphError(f"node {node.name!r} ({node.target}) is not understood: {reason}") from error
        self._name(start, node)

    def _made(self, node: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "getitem":
            return args[0][args[1]]
        if name in _REGIONS:
            return self._inlined(args)
        if name == "sym_size":
            value = args[0]
            return (
                self.sizes.size(node.args[0].meta["val"].shape[args[1]])
                if not isinstance(value, Value)
                else value.shape[args[1]]
            )
        if not _is_tensor(node.meta.get("val")) and name in _ON_SIZES and not any(isinstance(a, Value) for a in args):
            return _ON_SIZES[name](*args)
        handler = TABLE.get(name)
        if handler is None:
            raise GraphError("it computes a number from the data")
        return handler(Call(node, args, kwargs, self.sizes))

    def _resolved(self, argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return [self._resolved(a) for a in argument]
        if hasattr(argument, "op") and hasattr(argument, "meta"):
            found = self.values[argument.name]
            return found.value if isinstance(found, _Weight) else found
        return argument

    def _name(self, start: int, node: Any) -> None:
        """Name what a call became after the modules it lies in and the call itself."""
        path = _modules(node)
        name_after(self.made, start, _name_of(f"{path[-1]}.{node.name}" if path else node.name))

    def _outputs(self, node: Any, buffers: dict[str, Value]) -> list[Value]:
        """Store what changed; what is left are the module's results."""
        results = []
        user = {
            spec.arg.name
            for spec in self.signature.output_specs
            if "USER_OUTPUT" in str(spec.kind) and hasattr(spec.arg, "name")
        }
        for argument in node.args[0]:
            name = getattr(argument, "name", None)
            target = self.signature.buffers_to_mutate.get(name)
            value = self._resolved(argument)
            if target is not None:
                ops.buffer_store(buffers[target], value)
            if name is not None and name in user and isinstance(value, (Value, np.ndarray)):
                results.append(value)
            elif target is None and name not in user and isinstance(value, Value):
                raise GraphError("the module changes one of its inputs in place; only buffers may change")
        if not results:
            raise GraphError("the module gives back no tensor")
        return results


class _Weight:
    """A weight that becomes a constant when something reads it."""

    def __init__(self, name: str, tensor: Any) -> None:
        self.name = name
        self.tensor = tensor
        self._made: Value | None = None

    @property
    def value(self) -> Value:
        if self._made is None:
            self._made = made = constant(self.tensor)
            if made.rank:
                made.named(made.graph.free_name(_name_of(self.name)))
        return self._made


def _modules(node: Any) -> list[str]:
    """The modules around a call by their paths, outermost first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [entry[0] for entry in stack.values() if entry[0]]


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _known_name(target: Any) -> str | None:
    """The name under which a call's target is known here: an ATen op's without its overload, or Python's operator."""
    namespace = getattr(target, "namespace", None)
    if namespace in _NAMESPACES:
        name = target._schema.name.removeprefix(f"{namespace}::")
        return name if name in TABLE or name in _SAYS_NOTHING or name == "sym_size" or name in _ON_SIZES else None
    name = getattr(target, "__name__", "").strip("_")
    if target is operator.getitem or name in _ON_SIZES or name in _REGIONS:
        return name
    return None


def is_known(node: Any) -> bool:
    """Whether a node of an exported program can be imported; what it computes may still be more than its op can."""
    return node.op != "call_function" or _known_name(node.target) is not None


class _Sizes:
    """PyTorch's symbolic sizes as ours. A symbol has the name the user gave it, where that can be found."""

    def __init__(self, program: Any) -> None:
        self.names: dict[str, str] = {}
        for node in program.graph.nodes:
            value: Any = node.meta.get("val") if node.op == "placeholder" else None
            for size in value.shape if _is_tensor(value) else ():
                if (symbolic := getattr(size, "node", None)) is not None:
                    self._named(symbolic.shape_env)
                    return

    def _named(self, environment: Any) -> None:
        """The names of `torch.export.Dim`s: PyTorch remembers where each came from, but not in its files."""
        variables: dict[str, Any] = getattr(environment, "source_to_var", {})
        labels: dict[str, str] = getattr(environment, "source_name_to_debug_name", {})
        taken = {str(variable) for variable in variables.values()}  # PyTorch's own names, which others keep
        # A size that is computed from a named one (2*half) has that name for its source.
        for source, variable in variables.items():
            label, meant = labels.get(source, source), str(environment.replace(variable))  # of equal ones one is meant
            if label.isidentifier() and meant.isidentifier() and meant not in self.names and label not in taken:
                self.names[meant] = label
                taken.add(label)

    def shape(self, shape: Any) -> tuple[Any, ...]:
        """A shape."""
        return tuple(self.size(size) for size in shape)

    def size(self, size: Any) -> int | Dim:
        """A number, or a symbolic size as an expression of ours."""
        symbolic = getattr(size, "node", None)
        return int(size) if symbolic is None else self._expression(symbolic.expr)

    def _expression(self, e: Any) -> int | Dim:
        if e.is_Integer:
            return int(e)
        if e.is_Symbol:
            name = str(e)
            return symbol(self.names.get(name, name))
        parts = [self._expression(a) for a in e.args]
        if e.is_Add or e.is_Mul:
            total: Any = parts[0]
            for part in parts[1:]:
                total = total + part if e.is_Add else total * part
            return total
        kind = type(e).__name__
        if kind in ("FloorDiv", "CleanDiv"):
            return floordiv(*parts)
        if kind in ("Mod", "PythonMod"):
            return mod(*parts)
        if kind in ("Max", "Min"):
            join = maximum if kind == "Max" else minimum
            first, *rest = parts
            for part in rest:
                first = join(first, part)
            return first
        if e.is_Pow and isinstance(parts[1], int) and 0 < parts[1] < 8:
            total = parts[0]
            for _ in range(parts[1] - 1):
                total = total * parts[0]
            return total
        raise GraphError(f"the size {e} cannot be written as sums, products and quotients of sizes")
