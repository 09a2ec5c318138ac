"""What it means that a Python file is trusted: its text, and that of the modules beside it which it imports.

Trust is in what would run, not in where it lies: a file that was replaced by another is another file.
"""

from __future__ import annotations

import ast
import hashlib
import os
import warnings
from pathlib import Path

from compiler.errors import ParseError
from compiler.importers.files import read_file

_MOST_BYTES = 64 << 20  # of all files together; whoever imports more is asked about each time


def content_digest(path: str | Path) -> str:
    """The digest of all that opening a source runs: its file, and what it imports from its own folder, in turn.

    Empty where that cannot be told: such a file is never trusted for good.
    """
    try:
        first = Path(path).resolve(strict=True)
        waiting, seen, total = [first], {first: b""}, 0
        while waiting:
            file = waiting.pop()
            seen[file] = text = read_file(file, _MOST_BYTES)
            total += len(text)
            if total > _MOST_BYTES:
                return ""
            for found in _imported(text, first.parent):
                if found not in seen:
                    seen[found] = b""
                    waiting.append(found)
    except (OSError, RuntimeError, ParseError, ValueError):  # unreadable, a circle of links, a null in the name
        return ""
    whole = hashlib.sha256()
    for file in (first, *sorted(seen.keys() - {first})):
        name = "" if file == first else os.path.relpath(file, first.parent)
        whole.update(f"{name}\0{len(seen[file])}\0".encode("utf-8", "surrogatepass") + seen[file])
    return whole.hexdigest()


def _imported(text: bytes, folder: Path) -> list[Path]:
    """The files of a folder that a Python text names in its imports; a package with all of its modules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about the file is said when it is run
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    found = []
    for name in sorted(names):
        if (module := folder / f"{name}.py").is_file():
            found.append(module.resolve())
        if (package := folder / name).is_dir():
            found += sorted(file.resolve() for file in package.rglob("*.py") if file.is_file())
    return found
