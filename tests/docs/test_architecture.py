"""What the documents say of the tree is so: names of functions and classes in the map, and paths everywhere."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")] + sorted(
    ROOT.glob("docs/**/*.md")
)
ROOMS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in (".venv", "build", "dist")}
COMPILER = ("graph", "dialects", "passes", "language", "lowering", "backend", "program")
CODE = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(r"([\w./]+\.py):([A-Za-z_][\w.]*)")


def said(document: Path) -> list[str]:
    """What stands in backticks outside of blocks of code, word by word."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [word for span in CODE.findall(text) for word in span.split()]


def spelled_out(word: str) -> list[str]:
    """`a/{b,c}` as `a/b` and `a/c`."""
    braces = re.search(r"\{([^}]*)\}", word)
    if braces is None:
        return [word]
    return [word[: braces.start()] + one + word[braces.end() :] for one in braces.group(1).split(",")]


def is_path(word: str) -> bool:
    """Whether it means a file or folder of the project: it begins in one of the rooms, or ends as our files do."""
    if word.partition("/")[0] in ROOMS:
        return "/" in word
    return re.fullmatch(r"[a-z_][\w/*.-]*\.(py|md|toml)", word) is not None


@cache
def names(file: Path) -> set[str]:
    """What a file defines at its top, and what its classes define: `Class.method`."""

    def defined(body: list[ast.stmt], prefix: str = "") -> set[str]:
        found = set()
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found |= defined(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
        return found

    return defined(ast.parse(file.read_text(encoding="utf-8")).body)


ARCHITECTURE = said(ROOT / "ARCHITECTURE.md")
HOPS = list(dict.fromkeys(found.groups() for word in ARCHITECTURE if (found := NAMED.fullmatch(word))))
PATHS = [
    pytest.param(path, id=f"{document.name}: {path}")
    for document in DOCUMENTS
    for path in sorted(
        {path.partition(":")[0] for word in said(document) for path in spelled_out(word) if is_path(path)}
    )
]


@pytest.mark.parametrize(("file", "name"), HOPS)
def test_the_map_names_what_is_there(file: str, name: str) -> None:
    assert (ROOT / file).is_file()
    assert name in names(ROOT / file)


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_somewhere(path: str) -> None:
    assert any(ROOT.glob(path.rstrip("/")))


def test_the_way_to_pixels_passes_through_every_room() -> None:
    rooms = {"/".join(file.split("/")[:2]) for file, _ in HOPS}
    assert rooms >= {f"compiler/{room}" for room in COMPILER}
    assert rooms >= {f"profiler/{room}" for room in ("measure", "store")}
    assert rooms >= {f"app/{room}" for room in ("worker", "controllers", "viewmodels", "views")}


def test_names_and_paths_are_told_from_other_words() -> None:
    defined = names(ROOT / "compiler/graph/graph.py")
    assert {"Graph", "Graph.emit"} <= defined
    assert "Graph.missing" not in defined
    assert [
        word for word in ("compiler/pipeline.py", "pipeline.py", "FILE.py", ".py", "app", "x/y") if is_path(word)
    ] == [
        "compiler/pipeline.py",
        "pipeline.py",
    ]
    assert spelled_out("compiler/{a,b}") == ["compiler/a", "compiler/b"]
