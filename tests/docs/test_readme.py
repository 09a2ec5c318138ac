"""What the README shows runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
SNIPPETS = [text for language, text in BLOCKS if language == "python"]
# A command ends where two or more spaces begin its description.
COMMANDS = [
    re.split(r"\s{2,}", line)[0] for _, text in BLOCKS for line in text.splitlines() if line.startswith("kernelglass ")
]


def test_readme_shows_code_and_commands() -> None:
    assert SNIPPETS
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet_runs(snippet: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    assert "matmul" in capsys.readouterr().out


@pytest.mark.parametrize("command", [c for c in COMMANDS if "cuda:" not in c and " flows " not in c])
def test_command_runs(command: str) -> None:
    words = command.split()[1:]
    if words[0] == "run":  # that it runs, not how fast
        words += ["--budget", "0.2", "--processes", "1"]
    done = subprocess.run([sys.executable, "-m", "app", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.skipif(sys.platform != "linux", reason="folders have other names elsewhere")
def test_what_is_kept_is_where_it_says_and_elsewhere_if_it_is_told_so(tmp_path: Path) -> None:
    known = set(re.findall(r"`(KERNELGLASS_[A-Z]+)=", README))
    assert known == {"KERNELGLASS_DB", "KERNELGLASS_CACHE", "KERNELGLASS_CONFIG"}
    user = {"HOME": tmp_path / "home", **{f"XDG_{kind}_HOME": tmp_path / kind for kind in ("DATA", "CACHE", "CONFIG")}}
    told = {name: tmp_path / "told" / name for name in known}
    both = ["CACHE/kernelglass", "DATA/kernelglass/cache.key", "DATA/kernelglass/traces.db"]
    for kept, where in (({}, both), (told, ["DATA/kernelglass/cache.key", "told"])):
        environment = {name: value for name, value in os.environ.items() if name not in known}
        environment |= {name: str(place) for name, place in (user | kept).items()}
        for words in ("compile sample:softmax", "run sample:softmax --budget 0.1 --processes 1", "runs"):
            command = [sys.executable, "-m", "app", *words.split()]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
            assert done.returncode == 0, done.stderr
        found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        assert found and all(name.startswith(tuple(where)) for name in found), found
        assert all(any(name.startswith(place) for name in found) for place in where), found
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
