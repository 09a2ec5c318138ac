"""Messages of one kind that arrive in several threads at once, the first time that any of them does."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
READING = sorted(
    path for room in ("app", "compiler", "profiler") for path in (ROOT / room).rglob("*.py")
    if "msgspec" in path.read_text(encoding="utf-8") and path.name != "known_types.py"
)  # fmt: skip

FIRST_TIMES = """
import sys, threading
from dataclasses import make_dataclass

from compiler.processes.frames import opened, parcel

THREADS = 4
kinds, parcels = {}, []
for number in range(100):
    inner = make_dataclass(f"Inner{number}", [(f"field_{at}", int) for at in range(20)])
    kind = make_dataclass(f"Outer{number}", [("one", inner), ("many", tuple[inner, ...]), ("named", dict[str, inner])])
    value = inner(*range(20))
    kinds[kind.__name__] = kind
    parcels.append(parcel(kind(value, (value,), {"a": value})))
meet, read = threading.Barrier(THREADS), []

def work():
    for each in parcels:
        meet.wait()
        read.append(opened(each, kinds).many[0].field_19)

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read), set(read))
"""


def test_threads_that_meet_a_kind_of_message_at_once_all_read_it():
    found = subprocess.run([sys.executable, "-c", FIRST_TIMES], capture_output=True, text=True)
    assert (found.returncode, found.stdout.strip()) == (0, "400 {19}"), found.stderr


def records_read(tree: ast.AST) -> set[str]:
    """The names that msgspec is given as the type of what it reads."""
    found = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("msgspec."):
            last = ast.unparse(call.func).rpartition(".")[2]
            given = [word.value for word in call.keywords if word.arg == "type"]
            given += call.args[{"convert": 1, "Decoder": 0}[last] :][:1] if last in ("convert", "Decoder") else []
            found |= {each.id for each in given if isinstance(each, ast.Name)}
    return found


@pytest.mark.parametrize("path", READING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_record_is_made_readable_where_it_is_read(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "readable"]
    made = {ast.unparse(call.args[0]) for call in calls}
    made |= {
        ast.unparse(node.targets[0]) for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.value in calls
    }
    assert records_read(tree) <= made


def test_a_record_that_nobody_made_readable_is_found():
    tree = ast.parse("msgspec.json.decode(text, type=Record); msgspec.convert(x, Other); msgspec.json.Decoder(Third)")
    assert records_read(tree) == {"Record", "Other", "Third"}
