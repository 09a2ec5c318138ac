"""What `compile --emit` writes is what other tools read: one module of all kernels, or a file for each of them."""

from __future__ import annotations

import json
import shutil
import subprocess

import llvmlite.binding as llvm
import pytest

from app.sources import samples
from compiler.backend.sass import find_tool
from compiler.errors import UnavailableError
from compiler.targets import get_target

SOME = ["sample:mlp", "sample:transformer-block"]
REST = [f"sample:{sample.name}" for sample in samples() if not sample.is_model and f"sample:{sample.name}" not in SOME]
ALL = [*SOME, *(pytest.param(name, marks=pytest.mark.slow) for name in REST)]


@pytest.fixture
def emitted(kernelglass, tmp_path):
    def made(source, stage, *more, out="whole.txt"):
        path = tmp_path / out
        status, text, err = kernelglass(
            "compile", source, "--emit", stage, *more, "-o", f"{path}{'/' * (not path.suffix)}"
        )
        assert (status, text, err) == (0, "", "")
        return path

    return made


def kernels_of(kernelglass, source, *more):
    return [kernel["name"] for kernel in json.loads(kernelglass("compile", source, "--json", *more)[1])["kernels"]]


def parsed(path):
    get_target("cpu").machine(1)
    module = llvm.parse_assembly(path.read_text(), llvm.create_context())
    module.verify()
    return {function.name for function in module.functions if not function.is_declaration}


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("stage", ["llvm", "llvm-opt"])
def test_llvm_reads_the_one_module_of_all_kernels(kernelglass, emitted, source, stage):
    assert set(kernels_of(kernelglass, source)) <= parsed(emitted(source, stage, "--debug", "line-tables"))


def test_a_folder_gets_a_file_for_each_kernel(kernelglass, emitted):
    names = kernels_of(kernelglass, "sample:mlp")
    folder = emitted("sample:mlp", "llvm", out="folder")
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.ll" for name in names)
    assert all(name in parsed(folder / f"{name}.ll") for name in names)
    sources = emitted("sample:mlp", "source", "--kernel", names[0], out="folder")
    assert (sources / f"{names[0]}.py").read_text().startswith("@kernel")


def test_a_folder_is_told_in_json_and_is_not_for_the_whole_models_texts(kernelglass, tmp_path):
    status, out, _ = kernelglass("compile", "sample:mlp", "--emit", "asm", "-o", tmp_path, "--json")
    document = json.loads(out)
    assert status == 0 and document["out"] == str(tmp_path)
    assert sorted(document["files"]) == sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".s")
    status, _, err = kernelglass("compile", "sample:mlp", "--emit", "mo", "-o", f"{tmp_path}/")
    assert status == 2 and err.count("\n") == 1 and "give -o a file" in err


@pytest.mark.parametrize("source", ALL)
def test_ptxas_reads_the_one_module_of_all_kernels(kernelglass, emitted, source, tmp_path):
    try:
        ptxas = find_tool("ptxas")
    except UnavailableError as missing:
        pytest.skip(str(missing))
    path = emitted(source, "ptx", "--target", "sm_90")
    done = subprocess.run(
        [ptxas, "-arch=sm_90", "-o", tmp_path / "k.cubin", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(f".entry {name}" in path.read_text() for name in kernels_of(kernelglass, source, "--target", "sm_90"))


@pytest.mark.parametrize("source", ALL)
def test_the_assembler_reads_the_one_module_of_all_kernels(emitted, source, tmp_path):
    if shutil.which("as") is None:
        pytest.skip("there is no assembler on this machine")
    path = emitted(source, "asm")
    done = subprocess.run(["as", "-o", tmp_path / "k.o", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.oracle
@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_upstream_mlir_reads_the_one_module_of_all_kernels(emitted, source, target):
    upstream = pytest.importorskip("torch_mlir.ir", reason="torch-mlir, which brings upstream MLIR, is not installed")
    path = emitted(source, "kernel", "--target", target)
    with upstream.Context():
        assert upstream.Module.parse(path.read_text()).operation.verify()


def test_samples_are_told_in_json(kernelglass):
    status, out, err = kernelglass("samples", "--json")
    listed = json.loads(out)
    assert (status, err) == (0, "") and {"source", "description"} == set(listed[0])
    assert {entry["source"] for entry in listed} == {f"sample:{sample.name}" for sample in samples()}
