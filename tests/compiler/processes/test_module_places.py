"""Places of modules, kept: the next process finds them without looking, and nothing that has changed is missed."""

import importlib
import importlib.resources
import inspect
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from compiler.cache import default_cache
from compiler.processes.module_places import ModulePlaces

ROOT = Path(__file__).parents[3]
NAME = "kernelglass_places"


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package of two modules on the path, with a cache of its own; afterwards all is as it was."""
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    folder = tmp_path / "path" / NAME
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""A package."""\n')
    (folder / "part.py").write_text('"""A part."""\nvalue = 1\n')
    monkeypatch.syspath_prepend(str(folder.parent))
    yield folder
    forget()


def forget():
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def loaded():
    """The part, loaded by a process that begins."""
    forget()
    importlib.invalidate_caches()
    return importlib.import_module(f"{NAME}.part")


def learnt(name="test"):
    """What a process that loads the part leaves for the next; nothing of it finds modules any more."""
    before = list(sys.meta_path)
    places = ModulePlaces(name)
    part = loaded()
    places.keep()
    sys.meta_path[:] = before
    return part


def test_modules_are_what_they_were(package):
    before = learnt()
    ModulePlaces("test")
    part = loaded()
    assert type(part.__spec__.loader) is not SourceFileLoader and type(before.__spec__.loader) is SourceFileLoader
    for name in ("__name__", "__file__", "__cached__", "__package__", "__doc__", "value"):
        assert getattr(part, name) == getattr(before, name)
    whole = sys.modules[NAME]
    assert whole.__path__ == [str(package)] and whole.__file__ == str(package / "__init__.py")
    assert inspect.getsource(part) == (package / "part.py").read_text()
    assert importlib.resources.files(NAME).joinpath("part.py").is_file()


def test_a_changed_file_is_read_anew(package):
    learnt()
    (package / "part.py").write_text('"""A part."""\nvalue = 23\n')
    ModulePlaces("test")
    assert loaded().value == 23
    assert loaded().value == 23  # from what was compiled of it meanwhile


def test_a_file_without_a_compiled_one_is_compiled(package):
    part = learnt()
    ModulePlaces("test")
    os.unlink(part.__cached__)
    assert loaded().value == 1


@pytest.mark.parametrize("where", ["before it on the path", "in its folder"])
def test_what_would_be_found_instead_is_found(package, monkeypatch, tmp_path, where):
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    monkeypatch.syspath_prepend(str(earlier))
    learnt()
    new = earlier / NAME / "part.py" if where == "before it on the path" else package / "part" / "__init__.py"
    new.parent.mkdir()
    if where == "before it on the path":
        (new.parent / "__init__.py").write_text("")
    new.write_text("value = 2\n")
    ModulePlaces("test")
    assert loaded().value == 2


def test_a_module_that_is_gone_is_not_found(package):
    learnt()
    (package / "part.py").unlink()
    ModulePlaces("test")
    with pytest.raises(ModuleNotFoundError):
        loaded()


def test_processes_of_another_kind_or_path_learn_for_themselves(package, monkeypatch, tmp_path):
    learnt()
    ModulePlaces("other")
    assert type(loaded().__spec__.loader) is SourceFileLoader
    monkeypatch.syspath_prepend(str(tmp_path))
    ModulePlaces("test")
    assert type(loaded().__spec__.loader) is SourceFileLoader


@pytest.mark.parametrize("damage", [b"", b"kernelglass-cache-2 ", b"\xff" * 4000], ids=["empty", "cut", "other bytes"])
def test_a_damaged_entry_is_learnt_anew(package, damage):
    learnt()
    (entry,) = (path for path in (default_cache().path / "modules").rglob("*") if path.is_file())
    entry.write_bytes(damage)
    ModulePlaces("test")
    assert loaded().value == 1


def test_what_is_as_it_was_is_not_looked_at_again(package, monkeypatch):
    learnt()
    monkeypatch.setattr("compiler.processes.module_places._states", lambda folders: dict(folders))
    monkeypatch.setattr(default_cache(), "put", lambda *entry: pytest.fail("kept what was there"))
    places = ModulePlaces("test")
    loaded()
    monkeypatch.setattr("compiler.processes.module_places._place", lambda name, module: None)
    places.keep()


def test_modules_that_come_and_go_are_learnt(package):
    (package / "more.py").write_text("value = 3\n")
    learnt()

    def found(*names):
        """How the next process finds some modules, after one that loads these."""
        before = list(sys.meta_path)
        forget()
        importlib.invalidate_caches()
        places = ModulePlaces("test")
        loaders = {name: type(importlib.import_module(f"{NAME}.{name}").__spec__.loader) for name in names}
        places.keep()
        sys.meta_path[:] = before
        return {name for name, loader in loaders.items() if loader is not SourceFileLoader}

    assert found("part", "more") == {"part"}
    assert found("part", "more") == {"part", "more"}
    assert found("part") == {"part"}
    assert found("part", "more") == {"part"}


def test_only_programs_of_ours_find_modules_so():
    code = "import sys, compiler.pipeline, compiler.processes.nursery; print([type(f).__name__ for f in sys.meta_path])"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ModulePlaces" not in found.stdout
