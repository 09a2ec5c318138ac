"""Kernel libraries: folders of kernel source, indexed by name without parsing, handed to the compiler.

The single place that names a library is `default_library`; everything else is given one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.cache import key_of
from compiler.errors import KernelError, Location
from compiler.graph.opaque import Layout, Opaque
from compiler.graph.types import OpaqueBufferType, OpaqueType, TensorType
from compiler.language.packages import replaced_names
from compiler.language.source import Piece, SourceFile
from compiler.language.syntax.definitions import BESIDE, KINDS, annotation_name
from compiler.language.syntax.functions import Generator
from compiler.targets import get_target

if TYPE_CHECKING:
    from compiler.language.stored_operands import GivenOperand

ENTRY_POINTS = "kernelglass.kernels"
"""The group of entry points by which installed packages offer kernels: a name, and the package that has the files."""
_ROLES = {"FusedInput": "fused", "FusedOutput": "fused", "Tensor": "tensor", "Opaque": "tensor"}


@dataclass(frozen=True)
class Signature:
    """What the graph compiler sees of a kernel: how it may be fused, never what it computes."""

    kind: str  # elementwise, view, pointwise or kernel
    name: str
    inputs: tuple[str, ...]  # for each operand 'fused', 'tensor' or 'value'; the last one stands for the rest
    variadic: bool
    output: str  # 'fused' or 'tensor'
    params: tuple[str, ...]  # the keyword-only ones
    required: tuple[str, ...]
    reduction: str = ""  # the definition that says how a kernel combines elements over its `axes`, if there is one


@dataclass(frozen=True)
class Case:
    """What an overload is chosen by: dtype and rank of an op's first operand, and the target's name."""

    dtype: str
    rank: int
    target: str

    def fits(self, condition: tuple[str, str | int]) -> bool:
        """Whether a condition of a decorator holds."""
        name, wanted = condition
        if name != "target":
            return getattr(self, name) == wanted
        found = get_target(self.target)
        kinds = (found.kind, found.name, self.target, "gpu" if found.emission.grid is not None else "cpu")
        return wanted in kinds


class Library:
    """All kernels of some folders in one namespace."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self.files = tuple(files)

    @cached_property
    def _index(self) -> dict[str, tuple[SourceFile, Piece]]:
        index: dict[str, tuple[SourceFile, Piece]] = {}
        for file in self.files:
            for piece in file.pieces.values():
                if piece.name in index:
                    other, first = index[piece.name]
                    raise KernelError(
                        f"{piece.name} is defined here and in {other.file}:{first.line}",
                        Location(file.file, piece.line, 1),
                    )
                if piece.kind not in KINDS:
                    message = f"{piece.name} needs a decorator: {', '.join(sorted(KINDS))}"
                    raise KernelError(message, Location(file.file, piece.line, 1))
                index[piece.name] = (file, piece)
        return index

    @cached_property
    def _registered(self) -> dict[str, list[str]]:
        registered: dict[str, list[str]] = {}
        for name, (file, piece) in self._index.items():
            op = piece.registers
            if not op and piece.called:  # what stands there is no plain text at its beginning, and may be wrong
                op = file.generator(name).registers
            if op:
                registered.setdefault(op, []).append(name)
        return registered

    def find(self, name: str) -> Generator | None:
        """The definition called `name`."""
        entry = self._index.get(name)
        return entry[0].generator(name) if entry is not None else None

    def names(self) -> tuple[str, ...]:
        """Every definition's name."""
        return tuple(self._index)

    def operations(self) -> tuple[str, ...]:
        """Every op name something is registered for."""
        return tuple(self._registered)

    def registered(self, op: str) -> tuple[str, ...]:
        """The definitions that are registered for an op."""
        return tuple(self._registered.get(op, ()))

    def implementation(
        self, op: str, count: int | None = None, results: int = 1, case: Case | None = None
    ) -> Generator | None:
        """The definition for an op of `count` operands and some results; two that fit equally are an error.

        Where several fit a case, the one whose conditions include those of all others wins.
        """
        names = [name for name in self._registered.get(op, []) if self._index[name][1].kind not in BESIDE]
        fitting = [g for g in map(self.find, names) if g is not None and (count is None or _accepts(g, count, results))]
        if case is not None:
            fitting = [g for g in fitting if all(map(case.fits, g.only))]
        if len(fitting) > 1:
            exact = [g for g in fitting if g.variadic is None]  # the most specific match wins
            fitting = exact if exact else fitting
        fitting = [g for g in fitting if not any(set(g.only) < set(other.only) for other in fitting)]
        if len(fitting) > 1 and count is not None and (case is not None or not any(g.only for g in fitting)):
            one, two = fitting[:2]
            raise KernelError(
                f"{two.name} is registered for {op} and so is {one.name} ({one.file}:{one.line})",
                Location(two.file, two.line, 1),
            )
        return fitting[0] if fitting else None

    def signature(
        self, op: str, count: int | None = None, results: int = 1, case: Case | None = None
    ) -> Signature | None:
        """How the op's kernel may be fused; None when the library has no kernel for it."""
        generator = self.implementation(op, count, results, case)
        if generator is None:
            return None
        reductions = [name for name in self._registered.get(op, []) if self._index[name][1].kind == "reduction"]
        return signature_of(generator, results, reductions[0] if reductions and generator.kind == "kernel" else "")

    def result_types(self, op: str, operands: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """The types of an op's results, as its `@shape` function computes them from types and parameters."""
        from compiler.language.result_types import computed_types

        names = [name for name in self._registered.get(op, []) if self._index[name][1].kind == "shape"]
        found = self.find(names[0]) if names else None
        if found is None:
            raise KernelError(f"{op!r} has no @shape function in the library, so its result types must be given")
        return computed_types(found, self.find, operands, parameters)

    def stored(
        self, op: str, kernel: str, target: str, operands: Sequence[GivenOperand], parameters: Mapping[str, Any]
    ) -> tuple[bool, ...]:
        """Of which operands a kernel wants what is computed on them in memory, as the `@stored` function of its op in
        its own file says; of none where there is no such function."""
        from compiler.language.stored_operands import stored_operands

        for name in self._registered.get(op, []):
            file, piece = self._index[name]
            if piece.kind == "stored" and kernel in file.pieces:
                function = file.generator(name)
                fits = len(function.arguments) == len(operands)
                if fits and all(isinstance(operand.type, TensorType) for operand in operands):
                    return stored_operands(function, self.find, get_target(target), operands, parameters)
        return (False,) * len(operands)

    def opaque(self, kind: OpaqueType | OpaqueBufferType) -> Generator:
        """The definition of an opaque type."""
        label = kind.label
        names = [name for name in self._registered.get(label, []) if self._index[name][1].kind == "opaque"]
        found = [made for made in map(self.find, names) if made is not None]
        if not found:
            raise KernelError(f"the kernel library declares no opaque type {label!r}; @opaque({label!r}) does")
        if len(found) > 1:
            one, two = found[:2]
            place = Location(two.file, two.line, 1)
            raise KernelError(f"{two.name} declares the opaque type {label} and so does {one.file}:{one.line}", place)
        return found[0]

    def layout(self, kind: OpaqueType | OpaqueBufferType) -> Layout:
        """How a value of an opaque type lies in memory."""
        from compiler.language.layouts import computed_layout

        value = kind.tensor if isinstance(kind, OpaqueBufferType) else kind
        return computed_layout(self.opaque(kind), self.find, value)

    def zeros(self, kind: OpaqueType) -> Opaque:
        """A value of an opaque type whose bytes are all 0, to be given to a model."""
        return Opaque.zeros(self.layout(kind))

    def extended(self, others: Iterable[SourceFile], replaces: Collection[str] = ()) -> Library:
        """This library with more files; those whose names are in `replaces` take the place of one that is there."""
        files, more = list(self.files), []
        for other in others:
            if Path(other.file).name in replaces:
                files = _with_replaced(files, other)
            else:
                more.append(other)
        return Library((*files, *more))

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any source in it changes."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(file.text.encode())
            digest.update(b"\0")
        return digest.hexdigest()


def _with_replaced(files: Sequence[SourceFile], other: SourceFile) -> list[SourceFile]:
    """The files with another in the place of the last one of its name. The rest of that one's package is read anew, as
    it may import constants of it."""
    name = Path(other.file).name
    at = max((n for n, file in enumerate(files) if Path(file.file).name == name), default=-1)
    if at < 0:
        raise KernelError(f"this is to replace {name}, but the library has no file of that name", Location(other.file))
    package = set(map(id, files[at].mates.values())) | {id(files[at])}
    new = SourceFile(other.file, other.text)
    new.check_syntax()
    result = [
        new if n == at else SourceFile(file.file, file.text) if id(file) in package else file
        for n, file in enumerate(files)
    ]
    mates = {Path(made.file).stem: made for made, file in zip(result, files, strict=True) if id(file) in package}
    for made in mates.values():
        made.mates.update(mates)
    new.mates.update({stem: mate for stem, mate in other.mates.items() if stem not in mates})
    return result


def _operands(generator: Generator, results: int) -> list[str]:
    """The annotations of the operands: without the sinks of a kernel, the position of a pointwise, the workspaces."""
    kinds = [annotation_name(annotation) for _, annotation in generator.arguments]
    if generator.kind in ("kernel", "pointwise"):
        kinds = kinds[results if generator.kind == "kernel" else 1 :]
    return [kind for kind in kinds if kind != "Workspace"]


def _accepts(generator: Generator, count: int, results: int) -> bool:
    fixed = len(_operands(generator, results))
    return count >= fixed if generator.variadic is not None else count == fixed


@lru_cache(maxsize=4096)
def signature_of(generator: Generator, results: int = 1, reduction: str = "") -> Signature:
    """The signature of a definition, read off its annotations."""
    output = "fused"
    if generator.kind == "kernel" and generator.arguments:
        output = _ROLES.get(annotation_name(generator.arguments[0][1]), "tensor")
    usual = "fused" if generator.kind != "elementwise" else "value"
    return Signature(
        kind=generator.kind, name=generator.name,
        inputs=tuple(_ROLES.get(kind, usual) for kind in _operands(generator, results)),
        variadic=generator.variadic is not None, output=output,
        params=tuple(parameter.name for parameter in generator.parameters),
        required=tuple(parameter.name for parameter in generator.parameters if parameter.default is None),
        reduction=reduction,
    )  # fmt: skip


@lru_cache(maxsize=8192)
def definition_digest(library: Library, name: str, placed: bool) -> str:
    """Changes when the definition of `name`, or the constants of its file, change; with `placed` when it moves, too."""
    for file in library.files:
        piece = file.pieces.get(name)
        if piece is not None:
            return key_of(piece.text, file.constants_text, (file.file, piece.line) if placed else ())
    return ""


def read_folder(folder: Path) -> list[SourceFile]:
    """The kernel files of a folder (or a single file, or an installed package by its name), in name order."""
    folder = installed_folder(folder) or folder
    if folder.is_file():
        paths = [folder]
    elif folder.is_dir():
        paths = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    else:
        known = ", ".join(sorted(point.name for point in _entry_points()))
        there = f"; the installed packages of kernels are {known}" if known else ""
        raise KernelError(f"no such kernel library{there}", Location(str(folder)))
    files: list[SourceFile] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8-sig")  # some editors mark a file as UTF-8 by its first three bytes
        except (OSError, UnicodeDecodeError) as problem:
            raise KernelError(f"this kernel file cannot be read: {problem}", Location(str(path))) from None
        files.append(SourceFile(str(path), text))
    mates = {path.stem: file for path, file in zip(paths, files, strict=True)}
    for file in files:
        file.mates.update(mates)
    return files


def installed_folder(name: Path) -> Path | None:
    """The folder of an installed package that is called so by its entry point; nothing of it is imported."""
    if name.exists() or len(name.parts) != 1:
        return None
    from importlib.util import find_spec

    for point in _entry_points():
        if point.name == name.name:
            top, *rest = point.module.split(".")
            found = find_spec(top)
            for place in (found.submodule_search_locations or ()) if found is not None else ():
                return Path(place, *rest)
    return None


def _entry_points() -> Iterable[Any]:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


@lru_cache(maxsize=1)
def default_library() -> Library:
    """The library that ships with the compiler."""
    import kernels

    return Library(read_folder(Path(kernels.__path__[0])))


def load_library(*folders: str | Path) -> Library:
    """The library that ships with the compiler, with the kernels of the given folders added.

    An installed package with the entry point `kernelglass.kernels` is given by its name; a folder's `library.toml` may
    say that files of it take the place of the library's. Files are read anew on each
    call, so an edited kernel is picked up by loading again.
    """
    library = default_library()
    for folder in folders:
        place = installed_folder(Path(folder)) or Path(folder)
        library = library.extended(read_folder(place), replaced_names(place))
    library._index  # noqa: B018  duplicates are reported here, not in the middle of a compilation
    return library
