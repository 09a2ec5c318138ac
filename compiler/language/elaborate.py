"""From kernel source to a kgen module: one function for each kernel, one for each library function they instantiate."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region

from compiler.dialects import kgen
from compiler.errors import KernelError, ParseError
from compiler.graph import dims as dimlib
from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.interpreter import Interpreter
from compiler.language.kernel import BufferArgument, ElaboratedKernel, KernelSource, Launch
from compiler.language.library import Library
from compiler.language.syntax.signatures import buffer_argument, workspace_type
from compiler.language.syntax.source import SourceFile
from compiler.language.values import arithmetic as math
from compiler.language.values import memory, static
from compiler.language.values.dtypes import INDEX, LANGUAGE_DTYPES, DType, element_type, register_type
from compiler.language.values.kinds import Frame, Generator, Simd
from compiler.language.values.loadables import UNSIZED, Tensor, row_major
from compiler.language.values.methods import to_shape


@dataclass(frozen=True)
class LanguageTarget:
    """What kernels may ask about the machine they are compiled for."""

    name: str
    is_cpu: bool
    is_gpu: bool
    is_nvidia: bool
    is_amd: bool
    simd_bytes: int
    registers: int
    warp: int
    shared_bytes: int
    arch: int


@dataclass(eq=False)
class _Kernel:
    """A kernel while it is elaborated."""

    builder: Builder
    block: Block
    buffers: int
    slots: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    workspaces: list[BufferArgument] = field(default_factory=list)
    launch: Launch | None = None


@dataclass(frozen=True)
class _Instance:
    """A library function elaborated for some types and parameters."""

    symbol: str
    callee: SymbolRefAttr  # the symbol, as its calls bear it
    results: tuple[tuple[DType, int], ...]
    several: bool  # whether it returns a tuple
    effects: bool
    traps: bool


class Elaborator:
    """Elaborates kernels into one module; functions they share are instantiated once."""

    def __init__(self, library: Library, target: LanguageTarget) -> None:
        self.library = library
        self.language_target = target
        self.operations: list[Operation] = []
        self.globals: list[Operation] = []
        self.instances: dict[Any, _Instance] = {}
        self.names: set[str] = {"kg_barrier"}
        self.kernel: _Kernel | None = None
        self.local: SourceFile | None = None
        self.alone = False  # one kernel only: the functions it instantiates are its own, and belong to their first call

    def module(self) -> ModuleOp:
        """The module with everything elaborated so far."""
        return ModuleOp([*self.globals, *self.operations])

    # What the interpreter asks for

    def lookup(self, name: str) -> Any:
        """A function of the kernel's own file or of the library, or the target."""
        if name == "target":
            return self.language_target
        if self.local is not None and name in self.local.pieces:
            return self.local.generator(name)
        return self.library.find(name)

    def provenance(self, generator: Generator, line: int) -> int:
        """The provenance id of a line of generated source."""
        slots = generator.line_slots[line - 1] if line <= len(generator.line_slots) else ()
        kernel = self.kernel
        if kernel is None or not slots:
            return 0
        return kernel.slots.setdefault(slots, len(kernel.slots))

    def workspace(self, run: Interpreter, annotation: ast.expr | None, frame: Frame) -> Tensor:
        """A buffer shared by all threads of the kernel, asked for in a library kernel's signature."""
        kernel = self.kernel
        if kernel is None:
            raise KernelError("a workspace belongs to a kernel, not to a @function")
        kind, shape = workspace_type(run, annotation, frame)
        argument = kernel.block.insert_arg(self.buffer_type(kind), kernel.buffers + len(kernel.workspaces))
        name = argument.name_hint = f"ws{len(kernel.workspaces)}"
        kernel.builder.depths[id(argument)] = 0
        kernel.workspaces.append(BufferArgument(name, kind.name, shape))
        return Tensor(argument, kind, shape, (1,))

    def check_parallel(self, name: str, axis: int) -> None:
        """Whether a kernel may ask for this of the threads around it, here."""
        if self.language_target.is_gpu:
            return
        if name.startswith("block") or axis:
            raise KernelError(f"{name}() is for GPU kernels; on the CPU there are threads only")
        if self.kernel is None:
            raise KernelError(f"{name}() belongs in a kernel, not in a @function")

    def buffer_type(self, dtype: DType) -> Attribute:
        """The type of a kernel's buffer argument on this target."""
        return memory.buffer_type(dtype, None, "global" if self.language_target.is_gpu else "generic")

    def shared(self, run: Interpreter, dtype: DType, count: int) -> Any:
        """Block-shared memory, a module-level array."""
        from compiler.language.builtins.shared_memory import declare

        return declare(self, run, dtype, count)

    def launch(self, blocks: Any, threads: Any) -> None:
        """Record the grid of the kernel being elaborated."""
        if self.kernel is None or isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
            raise KernelError("launch states the blocks and a compile-time number of threads (1 to 1024), in a kernel")
        grid = to_shape(blocks)
        if not 1 <= len(grid) <= 3:
            raise KernelError("the blocks of a launch are one to three compile-time sizes")
        if self.kernel.launch is not None:
            raise KernelError("a kernel states its launch once")
        self.kernel.launch = Launch(grid, threads)

    def instantiate(self, run: Interpreter, generator: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a library function, elaborating it first if these types and parameters are new."""
        outlined = generator.kind == "outlined"
        signature = tuple(_argument_key(value, outlined) for value in args)
        key = (generator, signature, tuple(sorted((name, _frozen(value)) for name, value in kwargs.items())))
        instance = self.instances.get(key)
        if instance is None:
            instance = self.instances[key] = self._elaborate_function(run, generator, args, kwargs)
        operands = tuple([self._passed(run, value) for value in args if isinstance(value, (Simd, Tensor))])
        types = tuple([register_type(dtype, width) for dtype, width in instance.results])
        properties: dict[str, Attribute] = {"callee": instance.callee}
        if len(types) == 1 and not instance.effects:
            ssa = run.b.pure(kgen.CallOp, operands, types[0], properties, instance.symbol, speculate=not instance.traps)
            values: tuple[Simd, ...] = (Simd(ssa, *instance.results[0]),)
        else:
            if instance.effects:
                properties["effects"] = UnitAttr()
                run.b.effects = True
            call = run.b.emit(kgen.CallOp, operands, types, properties)
            values = tuple([Simd(r, *t) for r, t in zip(call.results, instance.results, strict=True)])
        if not values:
            return None
        return values if instance.several else values[0]

    def _passed(self, run: Interpreter, value: Simd | Tensor) -> Any:
        """An argument as an outlined function takes it: a buffer loses its size, so that all sizes share the code."""
        if isinstance(value, Simd):
            return value.ssa
        unsized = _unsized(value)
        if value.buffer.type is unsized:
            return value.buffer
        return run.b.pure(memref.CastOp, (value.buffer,), unsized)

    def _elaborate_function(
        self, run: Interpreter, generator: Generator, args: list[Any], kwargs: dict[str, Any]
    ) -> _Instance:
        outlined = generator.kind == "outlined"
        passed = [value for value in args if isinstance(value, (Simd, Tensor))]
        types = [v.ssa.type if isinstance(v, Simd) else _unsized(v) for v in passed]
        block = Block(arg_types=types)
        outer, saved = run.b, (run.node, run.file)
        kernel, self.kernel = self.kernel, None
        run.b = builder = Builder()
        builder.state_alignment = outer.state_alignment
        builder.open(block)
        builder.file, builder.line = generator.file, generator.line
        if self.alone:
            builder.provenance = outer.provenance
        fresh = iter(block.args)
        names = [name for (name, _), value in zip(generator.arguments, args) if isinstance(value, (Simd, Tensor))]
        for argument, name in zip(block.args, names, strict=False):
            argument.name_hint = name
        inner = [_received(value, fresh) for value in args]
        outcome = run.inline(generator, inner, kwargs, None)
        several = isinstance(outcome, tuple)
        values: Any = outcome if several else () if outcome is None and outlined else (outcome,)
        if (not values and not outlined) or not all(isinstance(value, Simd) for value in values):
            raise run.fail(f"{generator.name} must return run-time values on every way, not {math.describe(outcome)}")
        builder.emit(kgen.ReturnOp, tuple([value.ssa for value in values]), ())
        builder.close()
        run.b, (run.node, run.file) = outer, saved
        self.kernel = kernel
        results = tuple((value.dtype, value.width) for value in values)
        symbol = self._unique(_instance_name(generator, args, kwargs))
        params = {name: StringAttr(static.text_of(value)) for name, value in kwargs.items()}
        kind = FunctionType.from_lists(types, [register_type(*result) for result in results])
        self.operations.append(kgen.make_func(symbol, generator.name, kind, Region(block), params, outlined=outlined))
        return _Instance(symbol, SymbolRefAttr(symbol), results, several, outlined or builder.effects, builder.traps)

    def _unique(self, name: str) -> str:
        found, count = name, 1
        while found in self.names:
            count += 1
            found = f"{name}_{count}"
        self.names.add(found)
        return found

    # Kernels

    def add(self, source: KernelSource) -> ElaboratedKernel:
        """Elaborate one kernel into the module."""
        file = SourceFile(source.file or f"{source.name}.py", source.text, source.line_slots)
        run = Interpreter(self)
        run.file = file.file
        try:
            entry = self._entry(file, source.name)
            return self._kernel(run, entry, file, source.symbols)
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

    def _kernel(self, run: Interpreter, entry: Generator, file: SourceFile, given: tuple[str, ...]) -> ElaboratedKernel:
        self.local = file
        frame = Frame(entry, None)
        arguments = [buffer_argument(run, name, annotation, frame) for name, annotation in entry.arguments]
        symbols = sorted({s for a in arguments for size in a.shape for s in dimlib.symbols_of(size)} | set(given))
        kinds = [LANGUAGE_DTYPES[a.dtype] for a in arguments]
        block = Block(arg_types=[*(self.buffer_type(kind) for kind in kinds), *(element_type(INDEX) for _ in symbols)])
        builder = run.b
        kernel = self.kernel = _Kernel(builder, block, len(arguments))
        builder.state_alignment = self.language_target.is_gpu
        builder.open(block)
        builder.file, builder.line = entry.file, entry.line
        if entry.variadic is not None:
            raise run.fail(f"{entry.name}: a kernel compiled alone names each of its tensors")
        for argument, record, kind in zip(block.args, arguments, kinds, strict=False):
            argument.name_hint = record.name
            frame.env[record.name] = Tensor(argument, kind, record.shape, row_major(record.shape))
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
        builder.provenance = 0
        builder.emit(kgen.ReturnOp, (), ())
        builder.close()
        kind = FunctionType.from_lists([argument.type for argument in block.args], [])
        name = self._unique(entry.name)
        self.operations.append(kgen.make_func(name, entry.name, kind, Region(block), {}, kernel=True))
        return ElaboratedKernel(
            name, tuple(arguments), tuple(kernel.workspaces), tuple(symbols), tuple(kernel.slots), kernel.launch
        )


def _argument_key(value: Any, outlined: bool) -> Any:
    if isinstance(value, Simd):
        return (value.dtype, value.width)
    if isinstance(value, Tensor) and outlined:
        if value.rank != 1 or value.strides != (1,) or value.offset != 0:
            raise KernelError("an @outlined function takes whole one-dimensional arrays")
        return ("tensor", value.dtype, memory.space_of(value.buffer))
    return ("static", _frozen(value))


def _unsized(value: Tensor) -> Attribute:
    """The type of a tensor's buffer without its size."""
    return memory.buffer_type(value.dtype, None, memory.space_of(value.buffer))


def _received(value: Any, fresh: Iterator[Any]) -> Any:
    if isinstance(value, Simd):
        argument = next(fresh)
        return Simd(argument, value.dtype, value.width)
    if isinstance(value, Tensor):
        return Tensor(next(fresh), value.dtype, (UNSIZED,), (1,))
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, (int, str, bool, Dim, DType)) or value is None:
        return (type(value).__name__, value if not isinstance(value, (Dim, DType)) else str(value))
    raise KernelError(f"{math.describe(value)} cannot be passed to a @function; make it @inline")


def _instance_name(generator: Generator, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    parts = [generator.name]
    first = next((v for v in args if isinstance(v, Simd)), None)
    if first is not None:
        parts.append(f"{first.dtype.name}x{first.width}" if first.width > 1 else first.dtype.name)
    parts += [static.text_of(value)[:24] for value in kwargs.values() if isinstance(value, (int, str))]
    return "_".join("".join(c if c.isalnum() and c.isascii() else "_" for c in part) for part in parts)
