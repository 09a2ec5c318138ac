"""Where graphs come from: `sample:NAME`, a file (.py, .mlir, .onnx, .pt2, .gguf, .kgx) or the folder of a checkpoint,
each loaded to one `Source`.

Some samples come in sizes: `sample:many-kernels:128`. Of a language model's checkpoint the decoding graph is loaded,
unless the name says `#prefill`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.resources import resource_folder
from compiler.errors import CompilerError, GraphError, Location, ParseError, UnavailableError
from compiler.importers.files import folder_name, read_file
from compiler.importers.llama.graph_choice import SAMPLE as _SAMPLE
from compiler.importers.llama.graph_choice import chosen_graph, divided, shown_graph

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.importers.llama.checkpoint import Checkpoint
    from compiler.options import CompileOptions

SUFFIXES = (".py", ".mlir", ".onnx", ".pt2", ".gguf", ".kgx")
WAYS = (
    "sample:NAME, FILE.py, FILE.mlir, FILE.onnx, FILE.pt2, FILE.gguf, FILE.kgx, or a folder of config.json and weights"
)
"""What a user can name, in words."""
CODE = {
    ".py": "Python code, and opening it runs it",
    ".pt2": "a PyTorch export, which can carry code that runs",
    ".kgx": "compiled code, and opening it runs it",
}
"""What may run code when it is opened, and so must be trusted."""
_TEXT = (".py", ".mlir")
_CONFIG = "config.json"
_LENGTH = 128  # tokens of a sentence, where nobody says how many
_MODELS = "models"  # the folder of samples that are whole models, with weights
_MOST_BYTES = 64 << 20  # of a file in Python
_MOST = 100_000  # of whatever a sample's size counts


@dataclass(frozen=True)
class Source:
    """A loaded graph and what its file says about running it."""

    name: str
    graph: Graph
    dims: dict[str, int] = field(default_factory=dict)
    """The sizes to run with where the user gives none."""
    library_paths: tuple[Path, ...] = ()
    """Folders of kernels the graph's custom ops need."""
    artifact: str = ""
    """The compiled model that the graph was read from, which runs without being compiled."""
    options: CompileOptions | None = None
    """What that was compiled with."""


@dataclass(frozen=True)
class Sample:
    """A graph that ships with the program."""

    name: str
    description: str
    path: Path

    @property
    def is_model(self) -> bool:
        """Whether it is a whole model, with weights, rather than a graph to look at."""
        return self.path.parent.name == _MODELS


@cache
def samples() -> tuple[Sample, ...]:
    """The samples by name; their files are read, not run."""
    import ast

    found = []
    for path in _sample_files():
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found.append(Sample(_sample_name(path), text.split("\n")[0], path))
    return tuple(sorted(found, key=lambda sample: sample.name))


def _sample_files() -> Iterator[Path]:
    folder = resource_folder() / "samples"
    return (path for room in (folder, folder / _MODELS) for path in room.glob("*.py") if path.stem != "__init__")


def _sample_name(path: Path) -> str:
    return path.stem.replace("_", "-")


def looks_like_source(text: str) -> bool:
    """Whether a word on the command line means a graph rather than a command."""
    text, _ = divided(text)
    return text.startswith(_SAMPLE) or text.endswith(SUFFIXES) or checkpoint_folder(Path(text)) is not None


def is_text(path: Path) -> bool:
    """Whether an editor can show what is there."""
    return path.suffix in _TEXT and not os.path.isdir(path)


def checkpoint_folder(path: Path) -> Path | None:
    """The folder of a checkpoint, for itself and for the configuration and the weights in it; None for all else."""
    if path.name == _CONFIG or path.name.endswith((".safetensors", ".safetensors.index.json")):
        path = path.parent
    # Not Path.is_file, which raises for a name that is too long for any file to have.
    return path if os.path.isfile(path / _CONFIG) else None


def is_language_model(text: str) -> bool:
    """Whether text can be generated with a source: a model's weights, or a sample with such, as far as names tell."""
    path = source_path(text)
    if path is None:
        return False
    if text.startswith(_SAMPLE):
        return "def checkpoint(" in path.read_text(encoding="utf-8")
    if path.suffix == ".gguf":
        return True
    folder = checkpoint_folder(path)
    return folder is not None and not _is_encoder(folder)


def _is_encoder(folder: Path) -> bool:
    """Whether a checkpoint makes embeddings rather than text; one whose configuration does not read makes none."""
    from compiler.importers.config_file import read_json

    with contextlib.suppress(CompilerError):
        return read_json(folder / _CONFIG).get("model_type") == "bert"
    return False


def watched_file(path: Path) -> Path:
    """The file that is written when a source changes."""
    return path / _CONFIG if os.path.isdir(path) else path


def source_path(text: str) -> Path | None:
    """The file behind a source; None for a sample that there is not. A size may follow a sample's name."""
    text, _ = divided(text)
    if not text.startswith(_SAMPLE):
        return Path(text)
    name = text.removeprefix(_SAMPLE).partition(":")[0]
    return next((path for path in _sample_files() if _sample_name(path) == name), None)


def stored_name(text: str) -> str:
    """The name under which runs of a source are kept: a file by its whole path, so that two of a name stay two."""
    if text.startswith(_SAMPLE):
        return text
    name, graph = divided(text)
    return f"{os.path.abspath(name)}#{graph}" if graph else os.path.abspath(name)


def load_source(text: str) -> Source:
    """Load what the user named; anything wrong with it is a CompilerError of one line.

    A `.py` file is executed, and a `.pt2` file may carry code: that is what the user asked for.
    """
    name, graph = divided(text)
    if graph and is_language_model(text):
        return _language_model(load_checkpoint(text), graph, shown_graph(name))
    if graph:
        there = name.startswith(_SAMPLE) or os.path.exists(name)
        why = f"{name} has one graph: {graph} is one of a language model's" if there else f"there is no model {name}"
        raise ParseError(why)
    if text.startswith(_SAMPLE):
        path, size = _sample_of(text)
        return _load_python(path, text.removeprefix(_SAMPLE), size)
    path = Path(text)
    if folder := checkpoint_folder(path):
        return _load_checkpoint(folder)
    if path.suffix not in SUFFIXES:
        raise ParseError(f"cannot tell what {text!r} is: use {WAYS}")
    if path.suffix == ".kgx":
        return _load_compiled(path)
    if path.suffix == ".gguf":
        return _load_checkpoint(path)
    if path.suffix not in _TEXT:
        return Source(path.stem, _load_model(path))
    if path.suffix == ".py":
        return _load_python(path, path.stem)
    from compiler.importers.mlir_text import load_mlir

    return Source(path.stem, load_mlir(path))


def load_checkpoint(text: str) -> Checkpoint:
    """The language model that the user named: a sample that is one, or a model's own files."""
    text, _ = divided(text)
    if not text.startswith(_SAMPLE):
        from compiler.importers.llama.checkpoint import open_checkpoint

        return open_checkpoint(checkpoint_folder(Path(text)) or text)
    path, size = _sample_of(text)
    with _executed(path) as module:
        make = getattr(module, "checkpoint", lambda *_: None)
        made = make() if size is None else make(size)
    if made is None:
        raise ParseError(f"{text} makes no text; sample:llama-3.2-1b does")
    return made


def _sample_of(text: str) -> tuple[Path, int | None]:
    """The file of a sample, and the size behind its name."""
    name, colon, size = text.removeprefix(_SAMPLE).partition(":")
    known = {_sample_name(path): path for path in _sample_files()}
    if name not in known:
        raise ParseError(f"there is no sample {name!r}; the samples are {', '.join(sorted(known))}")
    return known[name], _sample_size(size, text) if colon else None


def _load_model(path: Path) -> Graph:
    """A model of another framework's."""
    if path.suffix == ".onnx":
        from compiler.importers.onnx import from_onnx

        return from_onnx(path)
    from compiler.importers.torch import load_exported

    return load_exported(path)


def _load_checkpoint(path: Path) -> Source:
    """A model from its weights: of a language model the graph that makes one token after others."""
    if os.path.isdir(path) and _is_encoder(path):
        from compiler.importers.bert.encoder import SENTENCES, TOKENS, sentence_encoder

        return Source(folder_name(path), sentence_encoder(path), {SENTENCES: 1, TOKENS: _LENGTH})
    own = shown_graph(str(path))
    return _language_model(load_checkpoint(str(path)), own, own)


def _language_model(checkpoint: Checkpoint, graph: str, own: str) -> Source:
    """The graph of a language model; one that is not its `own` is told by its name."""
    made, dims = chosen_graph(checkpoint, graph)
    return Source(checkpoint.name if graph == own else f"{checkpoint.name}-{graph}", made, dims)


def _load_compiled(path: Path) -> Source:
    """The graph in a compiled model: read as data. Its code is loaded where it runs, as a `.py` is executed."""
    from compiler.artifact.model_file import read_model

    if not os.path.exists(path):
        raise ParseError(f"there is no file {path}")
    held = read_model(path)
    return Source(path.stem, held.graph, artifact=str(path.resolve()), options=held.options)


def _sample_size(size: str, text: str) -> int:
    """The number behind a sample's name, for samples that come in sizes."""
    if not (size.isascii() and size.isdigit() and 0 < int(size) <= _MOST):
        raise ParseError(f"{text!r}: the size of a sample is a number from 1 to {_MOST}, as in sample:many-kernels:128")
    return int(size)


def _load_python(path: Path, name: str, size: int | None = None) -> Source:
    with _executed(path) as module:
        build = _build_function(module, path, size)
        graph = build() if size is None else build(size)
    _check_graph(graph, path)
    return Source(name, graph, _dims(module, path), _libraries(module, path))


@contextlib.contextmanager
def _executed(path: Path) -> Iterator[types.ModuleType]:
    """A Python file as a module; what is called of it within is the user's code too."""
    text = read_file(path, _MOST_BYTES)
    try:
        code = compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        location = Location(str(path), error.lineno or 0, error.offset or 0)
        raise ParseError(f"not valid Python: {error.msg}", location) from None
    except ValueError as error:  # a null byte
        raise ParseError(f"{path} is not a Python file: {error}") from None
    module = types.ModuleType(f"kernelglass_source_{path.stem}")
    module.__file__ = str(path)
    with _running(path, module):
        exec(code, module.__dict__)
        yield module


@contextlib.contextmanager
def _running(path: Path, module: types.ModuleType) -> Iterator[None]:
    """Around the user's code: siblings can be imported, prints go to stderr, and what it raises becomes one line."""
    folder = str(path.resolve().parent)
    sys.path.append(folder)  # last, so that no file of theirs hides a module of ours
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except (Exception, SystemExit) as error:
        placed = isinstance(error, CompilerError) and error.location is not None
        if placed or isinstance(error, UnavailableError):
            raise
        kind = "" if isinstance(error, CompilerError) else f"{type(error).__name__}: "
        words = " ".join(str(error).split()) or "no message"
        raise GraphError(kind + words, _place(error, path)) from error
    finally:
        sys.path.remove(folder)


def _place(error: BaseException, path: Path) -> Location:
    """The deepest line of the user's own file that led to the error."""
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return Location(str(path), (lines[-1] or 0) if lines else 0)


def _build_function(module: types.ModuleType, path: Path, size: int | None = None) -> Any:
    import inspect

    build = getattr(module, "build", None)
    if not callable(build):
        raise GraphError("no build() here; define `def build() -> Graph`", Location(str(path)))
    try:
        inspect.signature(build).bind(*([] if size is None else [size]))
    except TypeError:
        if size is not None:
            raise ParseError(f"sample:{path.stem.replace('_', '-')} comes in one size; leave out :{size}") from None
        line = build.__code__.co_firstlineno if isinstance(build, types.FunctionType) else 0
        raise GraphError("build() must take no arguments", Location(str(path), line)) from None
    return build


def _check_graph(graph: object, path: Path) -> None:
    from compiler.graph.graph import Graph

    if not isinstance(graph, Graph):
        raise GraphError(f"build() returned {type(graph).__name__}; it must return a Graph", Location(str(path)))
    if not graph.outputs:
        raise GraphError("build() returned a graph without outputs; call graph.output(value)", Location(str(path)))


def _dims(module: types.ModuleType, path: Path) -> dict[str, int]:
    dims = getattr(module, "DIMS", {})
    good = isinstance(dims, dict) and all(
        isinstance(name, str) and type(size) is int and size >= 0 for name, size in dims.items()
    )
    if not good:
        raise GraphError(f'DIMS must map names to sizes, as in {{"M": 256}}, not {dims!r}', Location(str(path)))
    return dict(dims)


def _libraries(module: types.ModuleType, path: Path) -> tuple[Path, ...]:
    named = getattr(module, "LIBRARY", ())
    folders = []
    for name in (named,) if isinstance(named, str) else named:
        folder = path.resolve().parent / str(name)
        if not folder.is_dir():
            raise GraphError(f"LIBRARY names {name!r}, but there is no folder {folder}", Location(str(path)))
        folders.append(folder)
    return tuple(folders)
