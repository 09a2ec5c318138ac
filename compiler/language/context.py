"""What an elaboration offers to values and builtins, which know nothing of the syntax that reached them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from compiler.language.builder import Builder
from compiler.language.kernel import BufferArgument, Choice, Launch, TensorMap
from compiler.options import ChoiceValue
from compiler.targets.target import Target

if TYPE_CHECKING:
    from xdsl.ir import Block, Operation

Callers = dict[tuple[str, int, int], dict[tuple[str, int], None]]
"""Of generated source, by file, line and provenance id: the lines of the library that called it, in order."""


@dataclass(eq=False)
class OpenKernel:
    """A kernel while it is elaborated."""

    builder: Builder
    block: Block
    buffers: int
    slots: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})
    workspaces: list[BufferArgument] = field(default_factory=list)
    launch: Launch | None = None
    shared_bytes: int = 0  # of the launch's shared memory, taken so far
    maps: list[TensorMap] = field(default_factory=list)
    takes_parts: bool = False  # a loop of it has its parts handed out while it runs
    wanted: Mapping[str, ChoiceValue] = field(default_factory=dict)  # by its decorator, in place of what it would take
    choices: dict[str, Choice] = field(default_factory=dict)  # that were made so far

    def provenance(self, line_slots: tuple[tuple[int, ...], ...], line: int) -> int:
        """The provenance id of a line of generated source; 0 where it comes from no slot."""
        return self.slots.setdefault(line_slots[line - 1], len(self.slots)) if line <= len(line_slots) else 0


class Host(Protocol):
    """What is around the function being elaborated."""

    target: Target
    kernel: OpenKernel | None  # None inside a @function, which any kernel may call
    globals: list[Operation]  # the module's arrays
    callers: Callers  # of lines of generated source

    def lookup(self, name: str) -> Any:
        """What a name means that no function binds; None when it means nothing."""

    def hint(self, name: str, file: str) -> str:
        """What else to say of a name in a file that means nothing."""
        return ""

    def instantiate(self, run: Any, generator: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function that is elaborated once for each combination of types and parameters."""


class Context(Protocol):
    """A place for operations, what is around it, and the way back into the language."""

    b: Builder
    host: Host

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Call anything callable."""
