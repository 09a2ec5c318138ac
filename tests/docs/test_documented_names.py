"""What the documentation's code asks of the program is there, also where a package that the code needs is not."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OURS = ("app", "compiler", "profiler")


def trees() -> list[tuple[str, ast.Module]]:
    """Every piece of Python of every page that can be read as such; kernels are in a language of their own."""
    found = []
    for page in PAGES:
        for text in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            try:
                found.append((page.name, ast.parse(text)))
            except SyntaxError:
                continue
    return found


IMPORTED = sorted(
    {
        (page, node.module, name.name)
        for page, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in OURS
        for name in node.names
    }
)


@pytest.mark.parametrize(("page", "module", "name"), IMPORTED)
def test_what_a_page_imports_is_there(page: str, module: str, name: str) -> None:
    if module.startswith("compiler.torch"):
        pytest.importorskip("torch")
    assert hasattr(importlib.import_module(module), name), page


def test_the_tokenizer_has_what_a_page_asks_of_it() -> None:
    from app.generate.tokenizing import Tokenizer

    asked = {
        node.attr
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name) and node.value.func.id == "tokenizer_of"
    }  # fmt: skip
    assert asked and all(hasattr(Tokenizer, name) for name in asked)
