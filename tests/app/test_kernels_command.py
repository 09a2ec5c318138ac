"""`kernelglass kernels` and `--library`: what there is, and kernels from several folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.main import main

KERNEL = '''from kernels.language import *


@kernel("{0}", dtype=f32)
def {0}_rows(out: FusedOutput, x: FusedInput, *, axis, scale=1.0):
    """Sums rows."""
    for row in range(*split(out.shape[0])):
        out[row] = x[row, 0]
'''


def folder_of(path: Path, name: str) -> str:
    path.mkdir()
    (path / f"{name}.py").write_text(KERNEL.format(name))
    return str(path)


def test_each_kernel_is_listed_with_what_fuses_into_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder_of(tmp_path / "one", "first"), folder_of(tmp_path / "two", "second")
    assert main(["kernels", "--library", one, "--library", two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["op"] for entry in found[:2]] == ["first", "second"]
    first = found[0]
    assert first["inputs"] == first["fused_inputs"] == ["x"] and first["fused_output"]
    assert first["parameters"] == ["axis", "scale="] and first["only"] == {"dtype": "f32"}
    assert first["file"].endswith("first.py") and first["line"] == 5
    assert {"mo.matmul", "mo.add", "mo.softmax"} <= {entry["op"] for entry in found}


def test_the_list_can_be_narrowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "softmax"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and "kernels/softmax.py:" in lines[1]
    assert main(["kernels", "no_such_kernel"]) == 0
    assert "no kernel has 'no_such_kernel'" in capsys.readouterr().out


def test_compile_and_run_take_kernels_from_several_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for name, number in (("one", 1), ("two", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "k.py").write_text(
            f'from kernels.language import *\n\n\n@elementwise("{name}")\ndef {name}(x):\n    return x + {number}\n'
        )
        folders += ["--library", str(folder)]
    source = tmp_path / "both.py"
    source.write_text(
        "from compiler import Graph, TensorType, ops\n\n\ndef build():\n"
        '    g = Graph("both", [TensorType("f32", (4,))])\n    with g:\n        (x,) = g.inputs\n'
        '        one = ops.custom("one", [x], x.type, reference=lambda x: x + 1)\n'
        '        g.output(ops.custom("two", [one], x.type, reference=lambda x: x + 2))\n    return g\n'
    )
    assert main(["compile", str(source), *folders, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"]
    assert main(["run", str(source), *folders, "--check", "--no-db", "--repeat", "3", "--processes", "1"]) == 0
    assert main(["compile", str(source), *folders[:2]]) == 3
    assert "no entry for 'two'" in capsys.readouterr().err


def test_the_windows_worker_compiles_with_the_folders_of_the_settings(tmp_path: Path) -> None:
    from app.viewmodels.requests import CompileRequest
    from app.worker.compile_session import CompileSession
    from compiler.options import CompileOptions

    folder = tmp_path / "kernels"
    folder.mkdir()
    kernel = 'from kernels.language import *\n\n\n@elementwise("one")\ndef one(x):\n    return x + {0}\n'
    (folder / "k.py").write_text(kernel.format(1))
    source = tmp_path / "one.py"
    source.write_text(
        "from compiler import Graph, TensorType, ops\n\n\ndef build():\n"
        '    g = Graph("one", [TensorType("f32", (4,))])\n    with g:\n'
        '        g.output(ops.custom("one", [g.inputs[0]], g.inputs[0].type))\n    return g\n'
    )
    request = CompileRequest(str(source), CompileOptions(), libraries=(str(folder),))
    texts = []
    for number in (1, 2):  # a saved change is there with the next compilation
        (folder / "k.py").write_text(kernel.format(number))
        session = CompileSession(request, lambda _: None)
        (model,) = session._models.values()
        texts.append(model.execute([0.0] * 4)[0][0])
    assert texts == [1, 2]
