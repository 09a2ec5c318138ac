"""NVIDIA machine code to read, with no GPU: ptxas assembles PTX, nvdisasm prints it, and each line knows its PTX line.

Both tools come from PyPI (extra `sass`) or from a CUDA toolkit on the PATH. Nothing that runs goes through here: the
driver makes its own code from the PTX.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from math import prod
from pathlib import Path

from compiler.backend.occupancy import Occupancy, occupancy
from compiler.backend.provenance import line_provenance
from compiler.errors import LoweringError, UnavailableError
from compiler.temporary import temporary_folder

DEFAULT_THREADS = 256
"""The block size that occupancy is given for where the kernel states none."""
_BINARY = "kernel.cubin"
_SECONDS = 120.0  # ptxas may take minutes over huge kernels; nobody waits longer for a text

_MARK = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_CODE = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/|\.L_)")
_SECTION = re.compile(r"^//-+ \.text\.")
_FUNCTION_SECTION = re.compile(r"^//-+ \.text\.(\S+)")
_OFFSET = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/")
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FUNCTION = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_THREADS = re.compile(r"\.entry\s+([^\s(]+)\s*\([^)]*\)[^{;]*?\.(?:maxntid|reqntid)\s+([\d, ]+)")


@dataclass(frozen=True)
class EntryResources:
    """What one kernel takes of a multiprocessor, by ptxas's own report; `threads` is the block size assumed."""

    name: str
    registers: int
    spill_stores: int
    spill_loads: int
    stack_bytes: int
    shared_bytes: int
    barriers: int
    threads: int
    occupancy: Occupancy


@dataclass(frozen=True)
class SassReport:
    """The machine code of a PTX text. Each line has its PTX line (from 1, 0 for none) and the provenance id of that."""

    arch: str
    text: str
    ptx_lines: tuple[int, ...]
    provenance: tuple[int, ...]
    entries: tuple[EntryResources, ...]
    log: str

    def entry(self, name: str) -> EntryResources:
        """The resources of one kernel."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise LoweringError(f"the PTX has no kernel {name!r}; it has {', '.join(e.name for e in self.entries)}")


@cache
def find_tool(name: str) -> str:
    """The path of ptxas or nvdisasm: from the PyPI package, else from the PATH."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob(f"*/bin/{name}"), reverse=True):
            return str(path)
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not on this machine (pip install 'kernelglass[sass]')")
    return found


@lru_cache(maxsize=64)
def sass_of(ptx: bytes, arch: str, threads: int | None = None, shared: int = 0) -> SassReport:
    """Assemble and disassemble.

    `threads` overrides the block size that occupancy is given for; `shared` are bytes that a launch sets aside besides.

    PTX that ptxas refuses is a LoweringError with its words; a missing tool is an UnavailableError.
    """
    nvdisasm = find_tool("nvdisasm")
    with temporary_folder("sass") as folder:
        log = _assemble(ptx, arch, folder)
        listing = _run([nvdisasm, "--print-code", "--print-line-info-ptx", str(Path(folder, _BINARY))], folder)
    source_text = ptx.decode()
    text, ptx_lines = _split(listing)
    known = [0, *line_provenance(source_text, "ptx")]
    provenance = tuple(known[line] if line < len(known) else 0 for line in ptx_lines)
    entries = _entries(log, source_text, arch, threads, shared)
    return SassReport(arch, text, ptx_lines, provenance, entries, log)


def cubin_of(ptx: bytes, arch: str) -> bytes:
    """The machine code that `sass_of` shows, for the driver to load as it is."""
    with temporary_folder("sass") as folder:
        _assemble(ptx, arch, folder)
        return Path(folder, _BINARY).read_bytes()


def sass_offsets(text: str) -> dict[tuple[str, int], int]:
    """The line (from 0) of each instruction of a listing, by its function and its offset there."""
    found: dict[tuple[str, int], int] = {}
    function = ""
    for number, line in enumerate(text.splitlines()):
        if section := _FUNCTION_SECTION.match(line):
            function = section[1]
        elif function and (code := _OFFSET.match(line)):
            found.setdefault((function, int(code[1], 16)), number)
    return found


def resources_of(ptx: bytes, arch: str, threads: int | None = None) -> tuple[EntryResources, ...]:
    """Registers, spills, memory and occupancy alone: ptxas takes a fraction of the time that nvdisasm does."""
    with temporary_folder("sass") as folder:
        return _entries(_assemble(ptx, arch, folder), ptx.decode(), arch, threads)


def _assemble(ptx: bytes, arch: str, folder: str) -> str:
    """Make the cubin in `folder` and return what ptxas reports."""
    source, binary = Path(folder, "kernel.ptx"), Path(folder, _BINARY)
    source.write_bytes(ptx)
    # -lineinfo alone makes ptxas keep the PTX line of each instruction, whether the PTX has .loc lines or not.
    return _run([find_tool("ptxas"), f"-arch={arch}", "-v", "-lineinfo", "-o", str(binary), str(source)], folder)


def _run(command: list[str], folder: str) -> str:
    """A tool's output; ptxas reports on either stream, depending on its version."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        raise LoweringError(f"{Path(command[0]).name} did not end within {_SECONDS:.0f} s") from None
    except OSError as error:
        raise UnavailableError(f"{Path(command[0]).name} does not start: {error.strerror or error}") from None
    if done.returncode:
        words = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise LoweringError(f"{Path(command[0]).name}: {' | '.join(words[:4]).replace(folder + '/', '')}")
    return done.stdout + done.stderr


def _split(listing: str) -> tuple[str, tuple[int, ...]]:
    """The listing without its marks, and the PTX line that each line came from; labels go with what stands before."""
    lines: list[str] = []
    numbers: list[int] = []
    current = 0
    for line in listing.splitlines():
        mark = _MARK.match(line)
        if mark:
            current = int(mark[1])
            continue
        if _SECTION.match(line):
            current = 0
        lines.append(line)
        numbers.append(current if _CODE.match(line) else 0)
    return "\n".join(lines) + "\n", tuple(numbers)


def _entries(log: str, ptx: str, arch: str, threads: int | None, set_aside: int = 0) -> tuple[EntryResources, ...]:
    stated = {name: prod(map(int, sizes.split(","))) for name, sizes in _THREADS.findall(ptx)}
    found: list[EntryResources] = []
    name, properties, frame = "", "", (0, 0, 0)
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            name, frame = match[1], (0, 0, 0)
        elif match := _FUNCTION.search(line):
            properties = match[1]
        elif (match := _STACK.search(line)) and properties == name:
            frame = (int(match[1]), int(match[2]), int(match[3]))
        elif (match := _USED.search(line)) and name:
            registers, shared = int(match[1]), _number(_SHARED, line) + set_aside
            block = threads or stated.get(name, DEFAULT_THREADS)
            fits = occupancy(arch, block, registers, shared)
            found.append(
                EntryResources(
                    name, registers, frame[1], frame[2], frame[0], shared, _number(_BARRIERS, line), block, fits
                )
            )
            name = ""
    return tuple(found)


def _number(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match[1]) if match else 0
