"""The commit of a source is a condition of its run, read from the repository's files."""

import json
import shutil
import subprocess

import profiled_graphs as graphs
import pytest

from profiler.measure.commit import source_commit
from profiler.measure.measuring import measure
from profiler.records import MeasureRequest

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="makes repositories with git"),
    pytest.mark.usefixtures("measured_in_forks"),
]


def git(folder, *arguments):
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *named, *arguments), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "repository" / "models"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q", "-b", "trunk")
    (folder / "model.py").write_text("x = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder / "model.py"


def head(source):
    return git(source.parent, "rev-parse", "HEAD")


def test_it_is_what_git_says(source, tmp_path):
    assert source_commit(str(source)) == head(source) != ""
    git(source.parent, "pack-refs", "--all")
    assert source_commit(str(source)) == head(source)
    git(source.parent, "commit", "-qm", "two", "--allow-empty")
    assert source_commit(str(source)) == head(source)
    git(source.parent, "worktree", "add", "-q", "-b", "side/branch", str(tmp_path / "beside"))
    beside = tmp_path / "beside" / "models" / "model.py"
    assert source_commit(str(beside)) == head(beside)
    git(source.parent, "checkout", "-q", "--detach", "HEAD~1")
    assert source_commit(str(source)) == head(source) != head(beside)


def test_no_repository_is_no_commit(tmp_path, source):
    alone = tmp_path / "alone.py"
    alone.write_text("")
    for name in (str(alone), "sample:mlp", "model.py", str(tmp_path / "nothing.py"), "x\0y", ""):
        assert source_commit(name) == ""


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"ref: ../../secret", b"ref: refs/../../x", b"g" * 40, b"ref: "])
def test_a_damaged_repository_is_no_commit(source, content):
    (source.parents[1] / ".git" / "HEAD").write_bytes(content)
    assert source_commit(str(source)) == ""


def test_a_run_has_it_among_its_conditions(source):
    arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    request = MeasureRequest(str(source), repeat=2, count=False, threads=1)
    found = measure(request, graphs.two_kernels(), arrays).result.conditions
    assert found["commit"] == head(source) and json.dumps(found)
