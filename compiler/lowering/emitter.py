"""The state of one emission: lines, names, locations; and the walk over blocks. What an op prints is in `emit_*.py`.

An emitter is a function `(Emitter, op) -> None` that appends lines. Constants and casts that change nothing print no
line: they only bind a name. Values are looked up by `id()`, because xDSL's own hashing costs more than the printing.
"""
# xDSL's public views (`op.operands`) allocate on every access; this is the compiler's hottest loop.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from compiler.errors import Location, LoweringError
from compiler.lowering.llvm_types import llvm_type
from compiler.lowering.locations import Locations, Metadata
from compiler.targets.target import Target

if TYPE_CHECKING:
    EmitFunction = Callable[["Emitter", Any], None]
    Emitters = Mapping[type[Operation], EmitFunction]


class EmitTable(dict[type[Operation], "EmitFunction"]):
    """The emitter of each kind of op; `late` dialects, which few kernels use, load with their first op."""

    def __init__(self, emitters: Emitters, late: Mapping[str, Callable[[], Emitters]]) -> None:
        super().__init__(emitters)
        self._late = late

    def find(self, op: Operation) -> EmitFunction | None:
        """The emitter of an op that was not in the table."""
        load = self._late.get(op.name.partition(".")[0])
        if load is not None:
            self.update(load())
        return self.get(type(op))


class Emitter:
    """Everything the op emitters share while one module is printed."""

    def __init__(self, target: Target, functions: dict[str, FuncOp], table: EmitTable):
        self.target = target
        self.functions = functions
        self.locations = Locations(None)
        self.declarations: dict[str, str] = {}
        """`declare` line by symbol."""
        self.globals: dict[str, str] = {}
        """Global definitions by symbol."""
        self.helpers: dict[str, str] = {}
        """Definitions of the small conversion functions in use (see `conversions.py`), by symbol."""
        self.called: list[str] = []
        """Functions that emitted code calls, in order of first call."""
        self.metadata = Metadata()
        self.placed = True
        """Whether anybody will ask where a line comes from."""
        self._table = table
        self._groups: dict[str, int] = {}
        self._types: dict[int, str] = {}
        self._kept: list[Attribute] = []
        self.start_function()

    def start_function(self) -> None:
        """Forget the previous function."""
        self.lines: list[str] = []
        self.where: list[int] = []
        """For each line, the index of its location."""
        self.entry: list[str] = []
        """Lines that go to the top of the entry block: allocas."""
        self.names: dict[int, str] = {}
        self.label = "entry"
        """The block being filled."""
        self.here = 0
        """The location of the op being printed."""
        self.yielded: tuple[str, ...] = ()
        """What the block that was just printed hands to its parent."""
        self.inlining: list[str] = []
        self.has_barrier = False
        self.loops = 0
        """How many were printed."""
        self.has_short_loop = False
        """Whether a loop of it is worth LLVM's unroller."""
        self.calls: set[str] = set()
        """Functions of the module that this one calls."""
        self._counts: dict[str, int] = {"entry": 1}

    # -- names ---------------------------------------------------------------------------------------------------

    def define(self, value: SSAValue, stem: str) -> str:
        """Name a value: its hint where it has one, else `stem`. Dots are ours, so hints cannot clash with them."""
        hint = value._name
        if hint is not None:
            stem = hint.replace(".", "_")
        count = self._counts.get(stem)
        if count is None:
            self._counts[stem] = 1
            name = "%" + stem
        else:
            self._counts[stem] = count + 1
            name = f"%{stem}.{count}"
        self.names[id(value)] = name
        return name

    def fresh(self, stem: str) -> str:
        """A new name that stands for no xDSL value: a label or a temporary; without its `%`."""
        count = self._counts.get(stem)
        if count is None:
            self._counts[stem] = 1
            return stem
        self._counts[stem] = count + 1
        return f"{stem}.{count}"

    def args(self, values: Iterable[SSAValue]) -> str:
        """`type name, type name`: an argument list."""
        names, typed = self.names, self.type
        return ", ".join([f"{typed(value._type)} {names[id(value)]}" for value in values])

    def type(self, attr: Attribute) -> str:
        """LLVM's spelling of a type; remembered by identity."""
        text = self._types.get(id(attr))
        if text is None:
            text = self._types[id(attr)] = llvm_type(attr, self.target)
            self._kept.append(attr)  # its id must not be reused while we remember it
        return text

    # -- declarations --------------------------------------------------------------------------------------------

    def declare(self, symbol: str, result: str, parameters: str) -> None:
        """Note that a function from elsewhere (an intrinsic, the runtime) is used."""
        if symbol not in self.declarations:
            self.declarations[symbol] = f"declare {result} {symbol}({parameters})"

    def attribute_group(self, words: str) -> str:
        """`#n` for a set of function attributes."""
        return f"#{self._groups.setdefault(words, len(self._groups))}"

    def attribute_lines(self) -> list[str]:
        """The attribute groups, as they stand at the end of a module."""
        return [f"attributes #{number} = {{ {words} }}" for words, number in self._groups.items()]

    # -- blocks --------------------------------------------------------------------------------------------------

    def start_block(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.label = label

    def block(self, block: Block) -> None:
        """Print the ops of a block; its terminator leaves what it hands over in `yielded`."""
        self.yielded = ()
        if not self.placed:
            self._plain_block(block)
            return
        lines, where, table = self.lines, self.where, self._table
        outer = self.here
        index_of = self.locations.index_of
        missing = len(lines) - len(where)
        if missing:  # the lines the parent op printed before entering this block
            where.extend([outer] * missing)
        op = block._first_op
        while op is not None:
            emit = table.get(type(op)) or table.find(op)
            if emit is None:
                raise LoweringError(f"{op.name} cannot be lowered to LLVM", self.locations.place_of(op))
            self.here = here = index_of(op.location)
            emit(self, op)
            missing = len(lines) - len(where)
            if missing == 1:
                where.append(here)
            elif missing:
                where.extend([here] * missing)
            op = op._next_op
        self.here = outer

    def _plain_block(self, block: Block) -> None:
        """The same where only the text counts."""
        table = self._table
        op = block._first_op
        while op is not None:
            emit = table.get(type(op)) or table.find(op)
            if emit is None:
                raise LoweringError(f"{op.name} cannot be lowered to LLVM", self.locations.place_of(op))
            emit(self, op)
            op = op._next_op

    def fail(self, op: Operation, message: str) -> LoweringError:
        """An error about `op`, at its place in the kernel source."""
        place: Location | None = self.locations.place_of(op)
        return LoweringError(message, place)
