"""Compiled models on the command line: written by compile, run without compiling, refused in one line."""

import json

from command_line import SCALE, assert_one_line


def test_a_compiled_model_runs_and_checks(kernelglass, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    status, out, err = kernelglass("compile", tmp_path / "scale.py", "-o", tmp_path / "scale.kgx", "--json")
    assert status == 0, err
    assert json.loads(out)["bytes"] == (tmp_path / "scale.kgx").stat().st_size
    (tmp_path / "scale.py").unlink()
    fast = ("--dim", "M=8", "--repeat", "3", "--processes", "1")
    status, out, err = kernelglass("run", tmp_path / "scale.kgx", *fast, "--check", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["source"] == "scale" and found["check"][0]["ok"]


def test_out_without_emit_is_a_compiled_model_or_nothing(kernelglass, tmp_path):
    assert_one_line(kernelglass("compile", "sample:mlp", "-o", tmp_path / "a.txt"), 2, "-o needs --emit, or a FILE.kgx")
    assert_one_line(kernelglass("run", tmp_path / "none.kgx"), 2, "there is no file")
    (tmp_path / "bad.kgx").write_bytes(b"KGX")
    assert_one_line(kernelglass("run", tmp_path / "bad.kgx"), 2, "is not a compiled model")


def test_a_folder_that_cannot_be_written_is_told(kernelglass, tmp_path):
    assert_one_line(kernelglass("compile", "sample:mlp", "-o", tmp_path / "no" / "m.kgx"), 2, "cannot write")
