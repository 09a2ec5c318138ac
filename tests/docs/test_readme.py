"""What the README shows runs."""

from __future__ import annotations

import re
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
