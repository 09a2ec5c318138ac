"""From kernel source to a kgen module: one function for each kernel, one for each library function they instantiate."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region

from compiler.dialects import kgen
from compiler.errors import KernelError, Location, ParseError
from compiler.graph import dims as dimlib
from compiler.language.context import Callers, OpenKernel
from compiler.language.instances import Instance, call_instance, elaborate_function, instance_key
from compiler.language.interpreter import interpret
from compiler.language.kernel import ElaboratedKernel, KernelSource
from compiler.language.library import Library
from compiler.language.source import SourceFile
from compiler.language.syntax import liveness
from compiler.language.syntax.functions import Frame, Generator
from compiler.language.syntax.run import Run
from compiler.language.syntax.signatures import buffer_argument
from compiler.language.values.dtypes import INDEX, LANGUAGE_DTYPES, element_type
from compiler.language.values.loadables import Tensor
from compiler.language.values.memory import argument_type
from compiler.language.values.records import Simd
from compiler.language.values.shapes import row_major
from compiler.targets.target import Target


class Elaborator:
    """Elaborates kernels into one module; functions they share are instantiated once."""

    def __init__(self, library: Library, target: Target) -> None:
        self.library = library
        self.target = target
        self.operations: list[Operation] = []
        self.globals: list[Operation] = []
        self.callers: Callers = {}  # of the last kernel's lines
        self.kernel: OpenKernel | None = None
        self.local: SourceFile | None = None
        self.looked_up: set[str] = set()  # library names the last kernel depends on, also through functions it calls
        self.alone = False  # one kernel only: the functions it instantiates are its own, and belong to their first call
        self._instances: dict[Any, tuple[Instance, frozenset[str]]] = {}  # with the library names behind each
        self._names: set[str] = {"kg_barrier", "kg_take"}

    def module(self) -> ModuleOp:
        """The module with everything elaborated so far."""
        return ModuleOp([*self.globals, *self.operations])

    def lookup(self, name: str) -> Any:
        """A function of the kernel's own file or of the library, or the target; the name is noted, found or not."""
        self.looked_up.add(name)
        if name == "target":
            return self.target
        if self.local is not None and name in self.local.pieces:
            return self.local.generator(name)
        return self.library.find(name)

    def hint(self, name: str, file: str) -> str:
        """How a constant of another file of the package is brought in, where that is what was meant."""
        home = next((each for each in self.library.files if each.file == file), None)
        for stem, mate in home.mates.items() if home is not None else ():
            if name in mate.constants:
                return f"; `from .{stem} import {name}` brings in that file's constant"
        return ""

    def instantiate(self, run: Run, generator: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a library function, elaborating it first if these types and parameters are new."""
        key = instance_key(run.b, generator, args, kwargs)
        known = self._instances.get(key)
        if known is None:
            kernel, self.kernel = self.kernel, None
            looked_up, self.looked_up = self.looked_up, set()
            provenance = run.b.provenance if self.alone else 0
            instance, operation = elaborate_function(run, generator, args, kwargs, self._unique, provenance)
            self.operations.append(operation)
            known = self._instances[key] = (instance, frozenset(self.looked_up))
            self.kernel, self.looked_up = kernel, looked_up
        instance, uses = known
        self.looked_up |= uses
        return call_instance(run, instance, args)

    def _unique(self, name: str) -> str:
        found, count = name, 1
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def add(self, source: KernelSource) -> ElaboratedKernel:
        """Elaborate one kernel into the module."""
        file = SourceFile(source.file or f"{source.name}.py", source.text, source.line_slots)
        run = interpret(self)
        run.file = file.file
        self.looked_up, self.callers = set(), {}
        try:
            entry = self._entry(file, source.name)
            return self._kernel(run, entry, file, source)
        except KernelError as problem:
            if problem.location is None:
                problem.location = run.where()
            raise
        except ParseError as problem:  # a size that does not read
            raise KernelError(problem.message, run.where()) from None
        except (RecursionError, MemoryError):
            raise KernelError("the source is nested too deeply", run.where()) from None
        finally:
            run.finish()
            self.kernel = None
            self.local = None

    def _entry(self, file: SourceFile, name: str) -> Generator:
        kernels = [piece for piece in file.pieces.values() if piece.kind == "kernel"]
        chosen = [piece for piece in kernels if piece.name == name] or kernels
        if not chosen:
            raise KernelError("this source defines no @kernel")
        return file.generator(chosen[0].name)

    def _core(self, entry: Generator) -> Generator:
        """The library's kernel that a generated one hands its sinks to: its last line calls it; else itself."""
        last = entry.body[-1]
        called = last.value.func if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
        found = self.library.find(called.id) if isinstance(called, ast.Name) else None
        return found if found is not None and found.kind == "kernel" else entry

    def _note_called(self, entry: Generator) -> None:
        """A kernel's own lines are called by nobody: they belong to the definition in the library that they call."""
        called: dict[int, Generator | None] = {}
        for (file, line, _), callers in self.callers.items():
            if ("", 0) in callers and file == entry.file:
                if line not in called:
                    called[line] = self._called_in(entry, line)
                found = called[line]
                del callers["", 0]
                if found is not None:
                    callers[found.file, found.line] = None

    def _called_in(self, entry: Generator, line: int) -> Generator | None:
        """The first definition in the library that a line of a kernel calls, outer calls before inner ones."""
        waiting: list[ast.AST] = [top for top in entry.body if top.lineno == line]
        for node in waiting:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found = self.library.find(node.func.id)
                if found is not None:
                    return found
            waiting += liveness.parts_of(node)
        return None

    def _kernel(self, run: Run, entry: Generator, file: SourceFile, source: KernelSource) -> ElaboratedKernel:
        self.local = file
        frame = Frame(entry, None)
        arguments = [buffer_argument(run, name, annotation, frame) for name, annotation in entry.arguments]
        symbols = sorted(
            {s for a in arguments for size in a.shape for s in dimlib.symbols_of(size)} | set(source.symbols)
        )
        kinds = [LANGUAGE_DTYPES[a.dtype] for a in arguments]
        buffers = [argument_type(kind, self.target) for kind in kinds]
        block = Block(arg_types=[*buffers, *(element_type(INDEX) for _ in symbols)])
        builder = run.b
        kernel = self.kernel = OpenKernel(builder, block, len(arguments), wanted=dict(entry.choices))
        builder.state_alignment = self.target.emission.grid is not None
        builder.open(block)
        builder.file, builder.line = entry.file, entry.line
        if entry.variadic is not None:
            raise run.fail(f"{entry.name}: a kernel compiled alone names each of its tensors")
        for argument, record, kind in zip(block.args, arguments, kinds, strict=False):
            argument.name_hint = record.name
            frame.env[record.name] = Tensor(argument, kind, record.shape, row_major(record.shape))
        outputs = len(arguments) if source.outputs is None else source.outputs
        builder.read_only.update((id(buffer), buffer) for buffer in block.args[outputs : len(arguments)])
        for argument, name in zip(block.args[len(arguments) :], symbols, strict=True):
            argument.name_hint = name
            builder.symbols[name] = Simd(argument, INDEX, 1)
            builder.nonnegative[id(argument)] = argument
            frame.env[name] = dimlib.symbol(name)
        for parameter in entry.parameters:
            if parameter.default is None:
                raise run.fail(f"{entry.name}: a kernel compiled alone needs a default for {parameter.name}")
            frame.env[parameter.name] = run.evaluate(parameter.default, frame)
        run.block(entry.body, frame, None)
        self._note_called(entry)
        for name in kernel.wanted.keys() - kernel.choices.keys():
            known = ", ".join(kernel.choices) or "none"
            raise run.fail(f"{entry.name} makes no choice called {name}; those it makes are: {known}")
        for buffer, record in zip(block.args, arguments[: source.outputs or 0], strict=False):
            if id(buffer) not in builder.written and 0 not in record.shape:
                core = self._core(entry)
                raise KernelError(f"{core.name} stores nothing to its output", Location(core.file, core.line, 1))
        builder.provenance = 0
        builder.emit(kgen.ReturnOp, (), ())
        builder.close()
        kind = FunctionType.from_lists([argument.type for argument in block.args], [])
        name = self._unique(entry.name)
        self.operations.append(kgen.make_func(name, entry.name, kind, Region(block), {}, kernel=True))
        launch = kernel.launch
        if kernel.shared_bytes:
            if launch is None:
                raise run.fail(f"{entry.name}: shared memory of the launch needs a launch(...)")
            launch = replace(launch, shared=kernel.shared_bytes)
        return ElaboratedKernel(
            name, tuple(arguments), tuple(kernel.workspaces), tuple(symbols), tuple(kernel.slots), launch,
            tuple(kernel.maps), tuple(kernel.choices.values()),
        )  # fmt: skip
