"""Files of kernel source: cut into definitions at a glance, exactly where the parser would cut them."""

from __future__ import annotations

import ast

import pytest

from compiler.errors import KernelError
from compiler.language import source as sources
from compiler.language.library import default_library
from compiler.language.source import SourceFile

DOCSTRINGS = [
    '"""One line."""\n',
    '"""Several lines.\n\nK = 3\n@inline\ndef shown(x):\n    return x\n"""\n',
    '# a comment\n\n  # another\n"""Text with "quotes" and ""two"".\nnext\n"""\n',
    '"""A \\"\\"\\" inside.\ndef no(): ...\n"""\n',
    "'''Other\nquotes'''\n",
    'r"""Raw\ntext"""\n',
    '"""closed""" ; K = 4\n',
]
BODY = "K = 2\n\n@inline\ndef one(x):\n    return x + K\n\n\n@inline\ndef two(\n    x,\n):\n    return x\n"


@pytest.mark.parametrize("docstring", DOCSTRINGS)
def test_a_docstring_hides_nothing_and_shows_nothing(docstring):
    file = SourceFile("k.py", docstring + BODY)
    assert list(file.pieces) == ["one", "two"]
    assert file.constants["K"] == 2
    lines = {node.name: node.lineno for node in ast.parse(docstring + BODY).body if isinstance(node, ast.FunctionDef)}
    assert {name: file.generator(name).line for name in file.pieces} == lines


def test_the_shipped_library_is_never_parsed_whole(monkeypatch):
    def refuse(source, file):
        raise AssertionError(f"{file} was parsed to be cut")

    monkeypatch.setattr(sources, "_cut_by_parsing", refuse)
    for file in default_library().files:
        assert SourceFile(file.file, file.text).pieces


def test_an_open_docstring_is_an_error_at_its_line():
    with pytest.raises(KernelError) as caught:
        SourceFile("k.py", '\n"""Never closed.\n@inline\ndef one(x):\n    return x\n').pieces  # noqa: B018
    assert caught.value.location is not None and caught.value.location.line == 2


def test_a_syntax_error_is_placed_in_the_file():
    file = SourceFile(
        "k.py", '"""Two\nlines."""\n\n@inline\ndef one(x):\n    return x\n\n\n@inline\ndef two(x):\n    return +\n'
    )
    with pytest.raises(KernelError) as caught:
        file.generator("two")
    assert (caught.value.location.line, caught.value.location.column) == (11, 13)
    assert file.generator("one").body[0].lineno == 6
