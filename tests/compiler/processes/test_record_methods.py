"""Methods of records, kept compiled: records are what they were, and nothing is compiled twice."""

import builtins
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.cache import default_cache
from compiler.processes.record_methods import MethodsWhenCalled, RecordMethods, keep_called

ROOT = Path(__file__).parents[3]


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """The texts that were compiled, with a cache of their own; afterwards dataclasses are made as before."""
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    texts = []

    def noted(text, *more, **options):
        texts.append(text)
        return compile(text, *more, **options)

    monkeypatch.setattr("compiler.processes.record_methods.compile", noted, raising=False)
    monkeypatch.setitem(vars(dataclasses), "exec", builtins.exec)
    monkeypatch.setitem(vars(dataclasses), "inspect", inspect)
    return texts


def record():
    @dataclasses.dataclass(frozen=True, order=True)
    class Place:
        """Where something is."""

        line: int
        file: str = "main.py"
        notes: list[str] = dataclasses.field(default_factory=list, compare=False)

    return Place


@pytest.mark.parametrize("kind", [RecordMethods, MethodsWhenCalled])
def test_records_are_what_they_were(compiled, kind):
    before = record()
    for _ in range(2):  # compiled now, and from the cache
        methods = kind("test")
        after = record()
        assert after(3) == after(3, notes=["x"]) and after(3) < after(4) and hash(after(3)) == hash(before(3))
        assert repr(after(3)) == repr(before(3)) and after.__init__.__annotations__ == before.__init__.__annotations__
        with pytest.raises(dataclasses.FrozenInstanceError):
            after(3).line = 4
        methods.keep()


def test_what_a_record_is_made_of_is_not_written_down(compiled, monkeypatch):
    monkeypatch.setattr(inspect, "signature", lambda *asked: pytest.fail("for a description that nobody reads"))
    RecordMethods("test")

    class Undescribed:
        line: int

    assert dataclasses.dataclass(Undescribed)(3).line == 3
    assert record().__doc__ == "Where something is."


def test_what_a_process_compiled_the_next_one_finds(compiled):
    first = RecordMethods("test")
    record()
    assert compiled
    first.keep()
    compiled.clear()
    RecordMethods("test")
    record()
    assert compiled == []
    RecordMethods("other")
    record()
    assert compiled


def test_what_is_not_used_any_more_is_not_kept(compiled):
    first = RecordMethods("test")
    record()
    first.keep()
    RecordMethods("test").keep()
    compiled.clear()
    RecordMethods("test")
    record()
    assert compiled


@pytest.mark.parametrize("damage", [b"", b"kernelglass-cache-2 ", b"\xff" * 4000], ids=["empty", "cut", "other bytes"])
def test_a_damaged_entry_is_compiled_anew(compiled, damage):
    first = RecordMethods("test")
    record()
    first.keep()
    (entry,) = (path for path in (default_cache().path / "methods").rglob("*") if path.is_file())
    entry.write_bytes(damage)
    compiled.clear()
    RecordMethods("test")
    assert record()(3).file == "main.py" and compiled


def test_only_programs_of_ours_make_records_so():
    code = "import dataclasses, compiler.pipeline, compiler.processes.nursery; print('exec' in vars(dataclasses))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def called(count):
    """Records of which so many methods are called, all different."""
    for number in range(count):
        assert dataclasses.make_dataclass("Numbered", [(f"x{number}", int)])(number)


def test_a_method_is_compiled_as_it_is_first_called(compiled):
    MethodsWhenCalled("test")
    place = record()
    assert compiled == []
    here, there = place(1), place(2)
    assert len(compiled) == 1 and here != there and len(compiled) == 2
    for _ in range(2):
        assert (place(1) == here, place(1) < there) == (True, True)
    assert len(compiled) == 3
    assert [*inspect.signature(place.__init__).parameters] == ["self", "line", "file", "notes"]


def test_a_method_that_is_first_called_by_a_subclass_is_the_one_of_its_own_class(compiled):
    MethodsWhenCalled("test")
    place = record()

    class Named(place):
        def __init__(self, name):
            super().__init__(3)
            object.__setattr__(self, "name", name)

    assert (Named("x").line, Named("x").name, place(4).line) == (3, "x", 4)
    assert "line" not in inspect.signature(Named).parameters and "line" in inspect.signature(place).parameters


def test_a_mistaken_call_says_what_it_always_said(compiled):
    said = []
    for _ in range(2):
        with pytest.raises(TypeError) as error:
            record()()
        said.append(str(error.value))
        MethodsWhenCalled("test")
    assert said[0] == said[1]


def test_what_processes_called_the_next_one_finds_whichever_of_them_it_was(compiled, monkeypatch):
    monkeypatch.setattr("compiler.processes.record_methods._when_called", [])
    first, second = MethodsWhenCalled("test"), MethodsWhenCalled("test")
    for methods, count in ((first, 20), (second, 40)):
        monkeypatch.setitem(vars(dataclasses), "exec", methods._execute)
        called(count)
    keep_called()
    compiled.clear()
    MethodsWhenCalled("test")
    called(40)
    record()(3)
    assert len(compiled) == 1


def test_a_few_methods_are_not_worth_another_entry(compiled, monkeypatch):
    methods = MethodsWhenCalled("test")
    called(20)
    methods.keep()
    record()(3)
    monkeypatch.setattr(default_cache(), "put", lambda *entry: pytest.fail("kept for one method"))
    methods.keep()


@pytest.mark.parametrize("kind", [RecordMethods, MethodsWhenCalled])
def test_records_of_other_packages_are_made_as_python_makes_them(compiled, kind):
    kind("test", {"compiler", "xdsl"})
    theirs = dataclasses.make_dataclass("Theirs", [("line", int)])
    ours = dataclasses.make_dataclass("Ours", [("line", int)], namespace={"__module__": "compiler.errors"})
    assert str(inspect.signature(theirs)) == "(line: int) -> None" and theirs.__doc__ == "Theirs(line: int)"
    assert ours.__doc__ == "Ours(...)" and ours(3).line == theirs(3).line == 3
