"""Which graph of a language model is compiled and run: by --graph, or behind the source's name."""

import json

import pytest
from command_line import SCALE, assert_one_line, document
from tiny_checkpoints import checkpoint

from app.sources import is_language_model, load_source, looks_like_source, source_path, stored_name
from compiler.importers.llama.graph_choice import divided, shown_graph, with_graph

LEVEL = ("-O", "0")  # what it takes LLVM least to make
FAST = (*LEVEL, "--repeat", "2", "--processes", "1", "--json")


def test_both_graphs_compile_run_and_are_kept_apart(kernelglass, tmp_path):
    folder, db = checkpoint(tmp_path / "tiny", num_hidden_layers=1), tmp_path / "runs.db"
    for graph, symbol in (("prefill", "T"), ("decode", "P")):
        found = document(
            kernelglass("run", folder, "--graph", graph, "--check", "--dim", f"{symbol}=5", "--db", db, *FAST)
        )
        assert all(check["ok"] for check in found["check"])
    kept = document(kernelglass("runs", "--db", db, "--json"))
    assert {run["source"] for run in kept["runs"]} == {str(folder), f"{folder}#prefill"}
    text = kernelglass("compile", f"{folder}#prefill", *LEVEL, "--emit", "mo")[1]
    assert "@prefill_tiny" in text
    text = kernelglass("compile", f"{folder}#prefill", "--graph", "decode", *LEVEL, "--emit", "mo")[1]
    assert "@decode_tiny" in text


def test_a_sample_has_both_graphs(kernelglass):
    assert load_source("sample:llama-3.2-1b:1#decode").dims == {"P": 128}
    assert load_source("sample:llama-3.2-1b:1").dims == {"T": 32}
    assert with_graph("sample:llama-3.2-1b:1", "prefill") == "sample:llama-3.2-1b:1"


def test_what_has_one_graph_says_so(kernelglass, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    assert_one_line(kernelglass("compile", tmp_path / "scale.py", "--graph", "prefill"), 2, "has one graph")
    assert_one_line(kernelglass("compile", "sample:mlp", "--graph", "decode"), 2, "has one graph")
    assert_one_line(kernelglass("compile", tmp_path / "none", "--graph", "prefill"), 2, "there is no model")
    folder = checkpoint(tmp_path / "words")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert not is_language_model(str(folder))
    assert_one_line(kernelglass("compile", folder, "--graph", "prefill"), 2, "has one graph")


def test_a_file_whose_name_ends_like_a_choice_is_that_file(tmp_path):
    odd = checkpoint(tmp_path / "odd#prefill")
    assert divided(str(odd)) == (str(odd), "") and load_source(str(odd)).dims == {"P": 63}
    assert load_source(f"{odd}#prefill").dims == {"T": 64} and stored_name(f"{odd}#prefill") == f"{odd}#prefill"


@pytest.mark.parametrize("text", ["a.gguf#prefill", "a.gguf#decode"])
def test_names_with_a_choice(text):
    assert looks_like_source(text) and source_path(text).name == "a.gguf" and is_language_model(text)
    assert stored_name(text).endswith(text) and shown_graph(text) == text.partition("#")[2]
    assert with_graph(text, "decode") == "a.gguf" and with_graph(text, None) == text
    assert divided("a.gguf#other") == ("a.gguf#other", "")
