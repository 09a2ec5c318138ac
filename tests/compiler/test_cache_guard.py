"""What the cache may touch, whom it trusts, and what it never deletes."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.cache import Cache, key_of
from compiler.cache_guard import MARKER, secret_place
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

KEY, OTHER = key_of("something"), key_of("something else")
only_posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """A data folder of the test's own, so that its secret is no other test's."""
    folder = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


def entry_of(cache: Cache, kind: str = "object", key: str = KEY) -> Path:
    return cache.path / kind / key[:2] / key[2:]


def test_clearing_never_takes_a_file_that_is_not_the_caches(tmp_path):
    weights = tmp_path / "precious" / "model" / "weights.bin"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"years of work")
    cache = Cache(tmp_path / "precious")
    with pytest.raises(CompilerError, match=r"model/weights.bin, which is not a cache's.*nothing was deleted"):
        cache.clear()
    assert not cache.put("object", KEY, b"code") and cache.get("object", KEY) is None
    assert [path.name for path in (tmp_path / "precious").rglob("*")] == ["model", "weights.bin"]


def test_in_a_cache_too_only_entries_are_dropped(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("object", KEY, b"code")
    kept = [cache.path / "object" / "notes.txt", cache.path / "object" / KEY[:2] / "notes.txt", cache.path / "read.me"]
    for path in kept:
        path.write_text("mine")
    assert cache.info().entries == 1 and cache.clear() == 1
    assert all(path.read_text() == "mine" for path in kept)


def test_no_link_is_followed(tmp_path):
    outside = tmp_path / "outside"
    (outside / KEY[:2]).mkdir(parents=True)
    (outside / KEY[:2] / KEY[2:]).write_bytes(b"not yours")
    cache = Cache(tmp_path / "cache")
    cache.put("object", OTHER, b"code")
    (cache.path / "model").symlink_to(outside, target_is_directory=True)
    (cache.path / "object" / "ab").symlink_to(outside / KEY[:2], target_is_directory=True)
    with pytest.raises(CompilerError, match=r"model in the cache folder .* is a link"):
        Cache(cache.path).clear()
    (cache.path / "model").unlink()
    assert Cache(cache.path).clear() == 1
    entry_of(cache).parent.mkdir(exist_ok=True)
    entry_of(cache).symlink_to(outside / KEY[:2] / KEY[2:])
    assert Cache(cache.path).get("object", KEY) is None
    assert Cache(cache.path).clear() == 0
    assert (outside / KEY[:2] / KEY[2:]).read_bytes() == b"not yours"


@only_posix
def test_a_folder_that_others_may_write_to_is_refused(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("object", KEY, b"code")
    cache.path.chmod(0o777)
    loose = Cache(cache.path)
    assert "others may write" in loose.refusal
    assert loose.get("object", KEY) is None and not loose.put("object", OTHER, b"code")
    with pytest.raises(CompilerError, match="others may write"):
        loose.clear()
    cache.path.chmod(0o700)
    assert Cache(cache.path).get("object", KEY) == b"code"


@only_posix
def test_weights_that_others_may_change_are_refused(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("object", KEY, b"code")
    (cache.path / "weights").mkdir(0o700)
    assert not Cache(cache.path).refusal
    (cache.path / "weights").chmod(0o777)
    assert "weights in the cache folder" in Cache(cache.path).refusal and not Cache(cache.path).get("object", KEY)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("object", KEY, b"code")
    os.chown(cache.path, 12345, 12345)
    assert "another user" in Cache(cache.path).refusal
    assert Cache(cache.path).get("object", KEY) is None


@only_posix
def test_what_is_made_is_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        cache = Cache(tmp_path / "above" / "cache")
        cache.put("object", KEY, b"code")
    finally:
        os.umask(before)
    for path in (tmp_path / "above", *(tmp_path / "above").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert (cache.path / MARKER).is_file()


def test_a_cache_of_an_earlier_version_is_taken_over(tmp_path):
    old = tmp_path / "object" / KEY[:2] / KEY[2:]
    old.parent.mkdir(parents=True)
    old.write_bytes(b"kernelglass-cache-1 " + hashlib.blake2b(b"code", digest_size=16).hexdigest().encode() + b"\ncode")
    cache = Cache(tmp_path)
    assert cache.get("object", KEY) is None
    assert cache.put("object", KEY, b"code") and cache.get("object", KEY) == b"code"


def test_an_entry_with_a_signature_made_without_the_secret_is_a_miss(tmp_path):
    cache = Cache(tmp_path)
    cache.put("object", KEY, b"code")
    head, _, _ = entry_of(cache).read_bytes().partition(b"\n")
    name = head.split()[0]
    for digest in (
        hashlib.blake2b(b"evil", digest_size=32),
        hashlib.blake2b(f"object/{KEY}\n".encode() + b"evil", digest_size=32),
        hashlib.blake2b(f"object/{KEY}\n".encode() + b"evil", digest_size=32, key=b"\0" * 32),
    ):
        entry_of(cache).write_bytes(name + b" " + digest.hexdigest().encode() + b"\nevil")
        assert Cache(tmp_path).get("object", KEY) is None


def test_an_entry_cannot_stand_in_for_another(tmp_path):
    cache = Cache(tmp_path)
    cache.put("object", KEY, b"code")
    cache.put("object", OTHER, b"other code")
    shutil.copy(entry_of(cache), entry_of(cache, key=OTHER))
    assert cache.get("object", OTHER) is None
    (cache.path / "ir" / KEY[:2]).mkdir(parents=True)
    shutil.copy(entry_of(cache), entry_of(cache, "ir"))
    assert cache.get("ir", KEY) is None
    assert cache.get("object", KEY) == b"code"


@only_posix
def test_the_secret_is_the_users_and_one_that_others_may_have_read_counts_no_more(tmp_path, own_data):
    cache = Cache(tmp_path / "cache")
    cache.put("object", KEY, b"code")
    place = secret_place()
    assert place.is_relative_to(own_data) and stat.S_IMODE(place.stat().st_mode) == 0o600
    known = place.read_bytes()
    place.chmod(0o644)
    from compiler.cache_guard import _kept_secret

    _kept_secret.cache_clear()  # as a new process
    again = Cache(cache.path)
    assert again.get("object", KEY) is None
    assert again.put("object", KEY, b"code") and again.get("object", KEY) == b"code"
    assert place.read_bytes() != known and stat.S_IMODE(place.stat().st_mode) == 0o600


def test_without_a_place_for_the_secret_nothing_is_cached_and_nothing_fails(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    cache = Cache(tmp_path / "cache")
    assert not cache.put("object", KEY, b"code") and cache.get("object", KEY) is None
    assert "nothing is cached" in cache.refusal


def test_a_model_compiles_all_the_same_where_the_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "letter.txt").write_text("mine")
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    with Graph("g", inputs=[TensorType("f32", ("M",))]) as graph:
        graph.output(ops.negative(graph.inputs[0]))
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    np.testing.assert_array_equal(compile_graph(graph, CompileOptions()).execute(x)[0], -x)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
