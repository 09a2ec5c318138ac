"""The code of a model for a GPU: what the compiler made, by unit, with the kernels that each unit offers.

A unit is complete in itself: what its kernels call is in it, and only kernels can be seen from outside. So units from
different compilations, which is what the caches bring together, link to one module without any of them clashing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.errors import LoweringError
from compiler.targets.nvptx import PTX_ENTRIES
from compiler.targets.target import Target


@dataclass(frozen=True)
class DeviceUnit:
    """Code that is loaded as one piece: PTX text for NVIDIA, an ELF object for AMD."""

    name: str
    code: bytes
    kernels: tuple[str, ...]

    @property
    def ptx(self) -> str:
        """The text of a unit for NVIDIA."""
        return self.code.decode()


def kernels_in(text: bytes, entries: str = PTX_ENTRIES) -> tuple[str, ...]:
    """The kernels that an assembly text offers, in its order; `entries` is the target's pattern."""
    return tuple(name.decode() for name in re.findall(entries.encode(), text, re.MULTILINE))


def device_unit(code: bytes, target: Target) -> DeviceUnit:
    """What the compiler made of one unit, with the kernels that can be found in it."""
    if target.emission.emits_text:
        kernels = kernels_in(code, target.emission.entries)
    else:
        from compiler.backend.jit import symbol_table

        defined, _ = symbol_table(code)
        kernels = tuple(sorted(name for name in defined if name + target.emission.descriptor in defined))
    return DeviceUnit(kernels[0] if kernels else "", code, kernels)


# Linking PTX
#
# The driver compiles one module on all processors at once, several modules one after the other, so one module is what
# to give it. Its own linker would do, but takes relocatable code, which uses other registers and is not what was looked
# at; putting the texts together changes nothing in any kernel.

_HEAD = re.compile(r"^\.(version|target|address_size)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_NAME = r"[A-Za-z_$%][\w$]*"
_LOCAL = re.compile(
    rf"^(?:\.func\s*(?:\([^)]*\)\s*)?({_NAME})|\.(?:global|const|shared)\b[^\n;={{]*?({_NAME})\s*(?:\[[^\n]*?\])?\s*[;=])",
    re.MULTILINE,
)
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+("[^"\n]*"[^\n]*)\n', re.MULTILINE)
_PLACE = re.compile(r"^([ \t]*\.loc[ \t]+)(\d+)", re.MULTILINE)
_NO_MACROS = re.compile(r"^[ \t]*\.section[ \t]+\.debug_macinfo[ \t]*\{[ \t]*\}[ \t]*\n", re.MULTILINE)


def link_ptx(texts: Sequence[str]) -> str:
    """One PTX text with the kernels of all; each kernel is in it as it was.

    What a text keeps to itself gets a number behind its name, and files in line tables are numbered anew.
    """
    if len(texts) == 1:
        return texts[0]
    heads = [dict(_HEAD.findall(text)) for text in texts]
    kinds = {(head.get("target"), head.get("address_size")) for head in heads}
    if len(kinds) != 1:
        raise LoweringError(f"PTX for different targets does not link: {', '.join(sorted(str(k[0]) for k in kinds))}")
    version = max((head["version"] for head in heads), key=lambda v: tuple(map(int, v.split("."))))
    target, size = next(iter(kinds))
    files: dict[str, int] = {}
    bodies = [_body(text, number, files) for number, text in enumerate(texts)]
    listed = "".join(f"\t.file\t{number} {path}\n" for path, number in files.items())
    return f".version {version}\n.target {target}\n.address_size {size}\n\n{''.join(bodies)}{listed}"


def _body(text: str, number: int, files: dict[str, int]) -> str:
    """A text without its head and its table of files, ready to stand beside others."""
    own = {int(old): files.setdefault(path, len(files) + 1) for old, path in _FILE.findall(text)}
    text = _NO_MACROS.sub("", _FILE.sub("", _HEAD.sub("", text)))
    if own:
        text = _PLACE.sub(lambda found: f"{found[1]}{own[int(found[2])]}", text)
    local = {name for pair in _LOCAL.findall(text) for name in pair if name}
    if local:
        known = re.compile(rf"(?<![\w$%.])(?:{'|'.join(map(re.escape, sorted(local)))})(?![\w$])")
        text = known.sub(lambda found: f"{found[0]}__{number}", text)
    return text
