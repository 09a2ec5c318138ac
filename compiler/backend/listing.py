"""Assembly listings: which lines are instructions, and how many bytes into its function each of them begins.

Instructions of one processor may differ in length, and only an assembler knows theirs. So LLVM assembles the listing
once more with a name in front of every instruction, and the object's symbol table says where those came to lie.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from compiler.backend.elf import Symbol, symbols
from compiler.errors import LoweringError
from compiler.targets.target import Target

_LABEL = re.compile(r'^"?([^\s":]+)"?:')
_LOCAL = (".L", "L")
_TYPE = re.compile(r'^\s*\.type\s+"?([^\s",]+)"?,\s*[@%]function')
_LEFT_OUT = re.compile(r"^\s*\.(?:loc|file|cfi_\w+|addrsig\w*|ident)\b")
_DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.?debug_")
_MARK = "kg_instruction_"


@dataclass(frozen=True)
class Function:
    """A function of a listing: the number (from 0) of each line that is an instruction."""

    name: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Laid:
    """A function as it is assembled: the offset of each instruction, and the length of all."""

    offsets: tuple[int, ...]
    size: int


def functions_of(listing: str) -> tuple[Function, ...]:
    """The functions of an assembly listing, in order."""
    names = {match[1] for match in map(_TYPE.match, listing.splitlines()) if match}
    found: dict[str, list[int]] = {}
    current = ""
    for number, line in enumerate(listing.splitlines()):
        if label := _LABEL.match(line):
            name = label[1]
            if name in names:
                current = name
            elif name.startswith(".Lfunc_end"):
                current = ""
        elif current and (word := line.strip()) and word[0] not in ".#/;@":
            found.setdefault(current, []).append(number)
    return tuple(Function(name, tuple(lines)) for name, lines in found.items())


def laid_out(listing: str, target: Target) -> dict[str, Laid]:
    """Where the instructions of each function come to lie; of a listing for this machine's processor only."""
    functions = functions_of(listing)
    marks = {line: f"{_MARK}{at}_{k}" for at, f in enumerate(functions) for k, line in enumerate(f.lines)}
    image = _assembled(_marked(listing, marks), target)
    places = {symbol.name: symbol for symbol in symbols(image) if symbol.defined}
    return {
        function.name: Laid(
            tuple(places[marks[line]].start - places[function.name].start for line in function.lines),
            places[function.name].size,
        )
        for function in functions
    }


def object_functions(image: bytes) -> tuple[Symbol, ...]:
    """The functions of an ELF object (nothing for other formats)."""
    return tuple(symbol for symbol in symbols(image) if symbol.defined and symbol.is_function and symbol.size)


def _marked(listing: str, marks: dict[int, str]) -> str:
    """The listing with a label in front of every instruction, and without what says where its lines come from."""
    lines: list[str] = []
    for number, line in enumerate(listing.splitlines()):
        if _DEBUG_SECTION.match(line):
            break
        if number in marks:
            lines.append(f"{marks[number]}:")
        if not _LEFT_OUT.match(line):
            lines.append(line)
    return "\n".join(lines)


def _assembled(text: str, target: Target) -> bytes:
    import llvmlite.binding as llvm

    machine = target.machine(0)
    escaped = "\n".join(f'module asm "{_escaped(line)}"' for line in text.splitlines())
    try:
        module = llvm.parse_assembly(
            f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n{escaped}\n',
            llvm.create_context(),
        )
        return machine.emit_object(module)
    except RuntimeError as error:
        raise LoweringError(f"the listing does not assemble: {str(error).strip().splitlines()[0]}") from None


def _escaped(line: str) -> str:
    return line.replace("\\", "\\5C").replace('"', "\\22").replace("\t", "\\09")
