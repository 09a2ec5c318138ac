"""`torch.compile(backend="kernelglass")`: FX graphs compiled here, the rest left to PyTorch.

A graph is exported and compiled when it is first called, for the sizes it is called with, or under `dynamic=True` for
all sizes at once; weights are inputs like any other, so that they may change. What cannot be imported runs in PyTorch,
as small a part as it takes, and why is said once. Where gradients are wanted, PyTorch's own tracing makes a forward and
a backward graph, and each comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from compiler.errors import CompilerError, GraphError
from compiler.importers.torch.exporting import exported, torch_package
from compiler.importers.torch.subgraph import computed, graph_of, is_known, results_of
from compiler.torch.dynamic_sizes import OpenSizes, asked_numbers, module_around, open_sizes, with_numbers
from compiler.torch.running import device_of, runner, say_once

NAME = "kernelglass"


def register() -> None:
    """Make the backend known to `torch.compile` by its name."""
    registry = import_module("torch._dynamo.backends.registry")
    if NAME not in registry._COMPILER_FNS:
        registry.register_backend(backend, name=NAME)


def backend(module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """What `torch.compile` calls with each graph that it has found."""
    torch = torch_package()
    if torch.is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in example_inputs):
        common = import_module("torch._dynamo.backends.common")
        return common.aot_autograd(fw_compiler=_traced, decompositions=_decompositions())(module, example_inputs)
    return _Lazy(module)


def _decompositions() -> dict[Any, Any]:
    """How PyTorch takes apart what gradients are made of."""
    return import_module("torch._decomp").core_aten_decompositions()


def _traced(module: Any, example_inputs: Sequence[Any]) -> Any:
    """A graph that PyTorch's tracing made, forward or backward: its nodes carry their types already."""
    torch = torch_package()
    boxed = import_module("functorch.compile").make_boxed_func
    try:
        device = device_of([value for value in example_inputs if isinstance(value, torch.Tensor)])
        return boxed(_compiled(torch, module, device, "a traced graph"))
    except CompilerError as problem:
        say_once(f"a traced graph is run by PyTorch: {problem}")
        return boxed(module)


class _Lazy:
    """An FX graph that is exported and compiled for each set of devices it is called with, and each set of sizes that
    are not left open."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._open = open_sizes(module)
        self._asked = tuple(asked_numbers(module))
        self._closed = ""  # why sizes that PyTorch left open are not so here
        self._variants: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        if self._open is not None:
            found = self._of_any_size(self._open, args)
            if found is not None:
                return found
        key = tuple([(a.shape, a.dtype, a.get_device()) if hasattr(a, "get_device") else a for a in args])
        if self._asked:
            key = (*key, *[args[k].item() for k in self._asked])
        found = self._variants.get(key)
        if found is None:
            found = self._variants[key] = self._compiled(args)
            if self._closed and isinstance(found, _Stateful) and found.whole:  # else more is said of it there
                say_once(f"a graph is compiled for each set of sizes: {self._closed}")
        return found(*args)

    def _of_any_size(self, sizes: OpenSizes, args: tuple[Any, ...]) -> Any:
        """What a program of symbolic sizes gives; None where there can be none, and each set of sizes gets its own."""
        torch, key = torch_package(), sizes.key(args)
        try:
            function = self._variants.get(key)
            if function is None:
                device = device_of([value for value in args if isinstance(value, torch.Tensor)])
                given = tuple(v.detach() if isinstance(v, torch.Tensor) else v for v in sizes.given(args))
                shapes = sizes.exported_shapes(torch, len(args))
                inner = with_numbers(torch, self._module, args)
                program = _without_tokens(exported(sizes.module(torch, inner), given, shapes))
                sizes.check(program, len(args))
                function = self._variants[key] = _Stateful(program, _Whole(torch, program.graph_module, device))
            return function(*sizes.given(args))
        except CompilerError as problem:
            self._open, self._closed = None, str(problem)
            return None

    def _compiled(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        torch = torch_package()
        try:
            device = device_of([value for value in args if isinstance(value, torch.Tensor)])
            given = tuple(value.detach() if isinstance(value, torch.Tensor) else value for value in args)
            inner = with_numbers(torch, self._module, args)
            # Exporting would take a module that `torch.compile` made for its own, were it not inside another.
            whole = module_around(torch, inner, lambda module, *values: module(*values))
            program = _without_tokens(exported(whole, given, None))
            return _Stateful(program, _compiled(torch, program.graph_module, device, "a graph"))
        except CompilerError as problem:
            say_once(f"a graph is run by PyTorch: {problem}")
            return self._module


def _without_tokens(program: Any) -> Any:
    """A program without the values by which an export keeps effects in order: its parts run in order anyway."""
    if not getattr(program.graph_signature, "input_tokens", ()):
        return program
    try:
        return import_module("torch.export._remove_effect_tokens_pass")._remove_effect_tokens(program)
    except (ImportError, AttributeError, RuntimeError, ValueError, AssertionError) as problem:
        raise GraphError(f"its effects cannot be put aside: {' '.join(str(problem).split())[:200]}") from problem


def _compiled(torch: Any, module: Any, device: int, name: str) -> Callable[..., Any]:
    """An FX graph of ATen ops: whole, in parts where an op is not known."""
    try:
        return _Whole(torch, module, device)
    except CompilerError as problem:
        why = str(problem)
    try:
        return _in_parts(torch, module, device, name, why)
    except (
        RuntimeError,
        ValueError,
        AssertionError,
        LookupError,
    ) as problem:  # PyTorch's way to cut has limits
        raise GraphError(f"{why}; it cannot be cut into parts: {' '.join(str(problem).split())[:200]}") from problem


class _Whole:
    """A graph that is compiled as one."""

    def __init__(self, torch: Any, module: Any, device: int) -> None:
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._given = [k for k, node in enumerate(nodes) if isinstance(node.meta.get("val"), torch.Tensor)]
        results = results_of(module)
        made = {node: k for k, node in enumerate(computed(results))}
        places = {node: k for k, node in enumerate(nodes)}
        # Each result: one of what is computed, an argument as it came, or a plain value.
        self._results = [
            ("made", made[node]) if node in made else ("given", places[node]) if node in places else ("plain", node)
            for node in results
        ]
        self._straight = [("made", k) for k in range(len(made))] == self._results
        if any(kind == "plain" and hasattr(node, "op") for kind, node in self._results):
            raise GraphError("it gives back a size")
        graph = graph_of(module)
        names = {value.name for value in graph.inputs}
        assert len(names) == len(self._given), "inputs that are tensors are the graph's"
        self._program = runner(graph, device, source=f"torch.compile:{_described(module)}")

    def __call__(self, *args: Any) -> Any:
        found = self._program.execute([args[k] for k in self._given])
        if self._straight:
            return tuple(found)
        return tuple(
            found[what] if kind == "made" else args[what] if kind == "given" else what for kind, what in self._results
        )


def _described(module: Any) -> str:
    """A name for a graph, after what it computes."""
    names = [
        node.target._schema.name.partition("::")[2] for node in module.graph.nodes if hasattr(node.target, "_schema")
    ]
    return "-".join(names[:4]) + (f"-and-{len(names) - 4}-more" if len(names) > 4 else "")


def _in_parts(torch: Any, module: Any, device: int, name: str, why: str) -> Callable[..., Any]:
    """The parts whose ops are known compiled, the others run by PyTorch."""
    support = import_module("torch.fx.passes.operator_support")

    class Known(support.OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_function" and is_known(node) and _is_plain(torch, node)

    cut = import_module("torch.fx.passes.infra.partitioner").CapabilityBasedPartitioner
    split = cut(module, Known(), allows_single_node_partition=True).partition_and_fuse()
    compiled = 0
    for child_name, child in list(split.named_children()):
        if hasattr(child, "graph") and child_name.startswith("fused_"):
            try:
                setattr(split, child_name, _part(torch, child, device))
                compiled += 1
            except CompilerError as problem:
                say_once(f"a part of {name} is run by PyTorch: {problem}")
    say_once(f"{name} is compiled in {compiled} parts, and the rest run by PyTorch: {why}")
    return split


def _is_plain(torch: Any, node: Any) -> bool:
    values = [node.meta.get("val"), *(argument.meta.get("val") for argument in node.all_input_nodes)]
    listed = [v for value in values for v in (value if isinstance(value, (tuple, list)) else (value,))]
    return all(isinstance(value, torch.Tensor) for value in listed)


def _part(torch: Any, child: Any, device: int) -> Any:
    """A part as a module; one with a single result gives it bare, as its callers expect."""
    whole = _Whole(torch, child, device)
    bare = not isinstance(next(n for n in reversed(child.graph.nodes) if n.op == "output").args[0], (tuple, list))

    class Part(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            found = whole(*args)
            return found[0] if bare else found

    return Part()


class _Stateful:
    """An exported program's function of its arguments alone: what its export lifted out of it is put back."""

    def __init__(self, program: Any, function: Callable[..., Any]) -> None:
        signature = program.graph_signature
        state = {**program.constants, **program.state_dict}
        lifted = {
            **signature.inputs_to_parameters, **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }  # fmt: skip
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise GraphError("it changes a buffer or an input in place")
        inputs = [node.name for node in program.graph.nodes if node.op == "placeholder"]
        self._function = function
        self.whole = isinstance(function, _Whole)
        self._held = [state[lifted[name]].detach() if name in lifted else None for name in inputs]
        self._bare = not any(held is not None for held in self._held)

    def __call__(self, *args: Any) -> Any:
        if self._bare:
            return self._function(*args)
        own = iter(args)
        return self._function(*[next(own) if held is None else held for held in self._held])
