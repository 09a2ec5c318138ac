"""The command line as scripts see it: exit status, one line on stderr, one JSON document on stdout."""

import json
import subprocess
import sys

import pytest
from command_line import ROOT, SCALE, TWO, assert_one_line, in_a_process

from app.sources import samples


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(SCALE)
    return path


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from app.cli.main import main; main(['--help']); "
        "print([m for m in ('llvmlite', 'xdsl', 'numpy', 'PySide6') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr
    for command in ("gui", "samples", "compile", "run", "devices"):
        assert f"\n  {command}" in done.stdout


def test_version(kernelglass):
    status, out, _ = kernelglass("--version")
    assert status == 0 and out.startswith("kernelglass")


@pytest.mark.parametrize("arguments", [[], ["gui"], ["sample:mlp"]])
def test_without_a_display_the_window_says_so(kernelglass, arguments, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert_one_line(kernelglass(*arguments), 4, "no display")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("nonsense",), "nonsense"),
        (("--nonsense",), "--nonsense"),
        (("compile",), "SRC"),
        (("compile", "sample:mlp", "--nonsense"), "--nonsense"),
        (("compile", "sample:mlp", "-O", "4"), "-O"),
        (("compile", "sample:mlp", "--flow", "sideways"), "per-kernel"),
        (("compile", "sample:mlp", "--emit", "wasm"), "llvm-opt"),
        (("compile", "sample:mlp", "--kernel", "k"), "--emit"),
        (("compile", "sample:mlp", "--library", "no/such/folder"), "no/such/folder"),
        (("compile", "sample:mlp", "--target", "sm_1"), "sm_1"),
        (("compile", "sample:mlp", "--jobs", "0"), "--jobs"),
        (("compile", "sample:nonesuch"), "mlp"),
        (("compile", "nowhere.py"), "nowhere.py"),
        (("compile", "graph.txt"), "graph.txt"),
        (("run", "sample:mlp", "--dim", "M"), "NAME=SIZE"),
        (("run", "sample:mlp", "--dim", "M=-1"), "NAME=SIZE"),
        (("run", "sample:mlp", "--dim", "Q=1"), "no dim Q"),
        (("run", "sample:mlp", "--dim", "M=999999999999999"), "memory"),
        (("run", "sample:mlp", "--device", "tpu"), "tpu"),
        (("run", "sample:mlp", "--repeat", "0"), "--repeat"),
        (("devices", "extra"), "extra"),
    ],
)
def test_bad_usage_and_bad_input_are_one_line_and_status_2(kernelglass, arguments, words):
    assert_one_line(kernelglass(*arguments), 2, words)


def test_samples_lists_every_sample_with_its_description(kernelglass):
    status, out, _ = kernelglass("samples")
    assert status == 0
    for sample in samples():
        assert f"sample:{sample.name} " in out and sample.description in out


def test_devices_names_the_cpu_and_says_what_is_missing(kernelglass):
    status, out, _ = kernelglass("devices")
    assert status == 0 and out.startswith("cpu ") and "cuda" in out
    status, out, err = kernelglass("devices", "--json")
    document = json.loads(out)
    assert status == 0 and not err
    assert document["cpu"]["usable_cores"] >= 1 and document["cpu"]["simd_bits"] >= 128
    assert document["cuda"] or document["cuda_unavailable"]


def test_an_onnx_model_is_a_source(kernelglass, tmp_path):
    onnx = pytest.importorskip("onnx")
    shape = lambda name: onnx.helper.make_tensor_value_info(name, 1, ["N", 4])  # noqa: E731
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="/act")
    graph = onnx.helper.make_graph([node], "net", [shape("x")], [shape("y")])
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph), path)
    status, out, err = kernelglass("compile", path, "--emit", "mo")
    assert (status, err) == (0, "") and "%act = mo.relu" in out and "[N, 4]" in out
    path.write_bytes(b"\x08\x07")
    assert_one_line(kernelglass("compile", path), 2, "ONNX")


def test_cuda_without_a_device_is_status_4(kernelglass):
    assert_one_line(kernelglass("run", "sample:softmax", "--device", "cuda:97"), 4)


def test_compile_prints_a_summary(kernelglass):
    status, out, err = kernelglass("compile", "sample:mlp")
    assert (status, err) == (0, "")
    for words in ("mlp for cpu", "kernel", "nodes", "stage", "fusion", "relu_0"):
        assert words in out


def test_compile_json_is_one_document_even_when_the_source_prints(kernelglass, scale):
    scale.write_text("print('hello')\n" + SCALE)
    status, out, err = kernelglass("compile", scale, "--json")
    document = json.loads(out)
    assert status == 0 and "hello" in err
    assert document["target"] == "cpu" and document["kernels"][0]["nodes"] and document["stats"]


@pytest.mark.parametrize("stage", ["mo", "mogg", "mgp", "kgen", "kernel", "llvm", "llvm-opt", "asm", "source"])
def test_every_stage_can_be_emitted(kernelglass, scale, stage):
    status, out, err = kernelglass("compile", scale, "--emit", stage)
    assert (status, err) == (0, "") and out.strip()


def test_an_object_goes_to_a_file(kernelglass, scale, tmp_path):
    path = tmp_path / "k.o"
    status, out, _ = kernelglass("compile", scale, "--emit", "object", "-o", path)
    assert (status, out) == (0, "")
    assert path.read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe") or path.read_bytes()[:2] == b"\x64\x86"


def test_one_kernel_can_be_chosen(kernelglass, tmp_path):
    path = tmp_path / "two.py"
    path.write_text(TWO)
    names = [kernel["name"] for kernel in json.loads(kernelglass("compile", path, "--json")[1])["kernels"]]
    assert len(names) == 2
    both = kernelglass("compile", path, "--emit", "llvm")[1]
    one = kernelglass("compile", path, "--emit", "llvm", "--kernel", names[0])[1]
    assert all(f"; kernel {name}" in both for name in names) and 0 < len(one) < len(both)
    assert_one_line(kernelglass("compile", path, "--emit", "llvm", "--kernel", "k"), 2, *names)
    assert_one_line(kernelglass("compile", path, "--emit", "object"), 2, "--kernel")


def test_a_stage_the_target_does_not_have_is_bad_usage(kernelglass, scale):
    assert_one_line(kernelglass("compile", scale, "--emit", "ptx"), 2, "NVIDIA")


def test_an_unwritable_file_is_one_line(kernelglass, scale, tmp_path):
    assert_one_line(kernelglass("compile", scale, "--emit", "mo", "-o", tmp_path / "no" / "x.mlir"), 2, "x.mlir")


def test_a_custom_op_without_a_kernel_fails_to_compile(kernelglass, tmp_path):
    path = tmp_path / "lost.py"
    path.write_text(SCALE.replace("ops.exp(graph.inputs[0])", "ops.custom('lost', graph.inputs, graph.inputs[0].type)"))
    assert_one_line(kernelglass("compile", path), 3, "lost")


def test_an_mlir_file_compiles_to_the_same_kernels(kernelglass, scale, tmp_path):
    text = kernelglass("compile", scale, "--emit", "mo")[1]
    path = tmp_path / "scale.mlir"
    path.write_text(text)
    status, out, err = kernelglass("compile", path, "--emit", "mo")
    assert (status, out, err) == (0, text, "")
    path.write_text(text + "}")
    assert_one_line(kernelglass("compile", path), 2, "scale.mlir")


def test_run_times_and_checks(kernelglass, scale):
    status, out, err = kernelglass("run", scale, "--check", "--repeat", "3", "--dim", "M=5", "--threads", "2")
    assert (status, err) == (0, "")
    for words in ("M=5", "median", "min", "check", "f32[5x64]"):
        assert words in out


def test_run_json(kernelglass, scale):
    status, out, err = kernelglass("run", scale, "--check", "--repeat", "3", "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert document["dims"] == {"M": 8} and len(document["seconds"]["all"]) == 3
    assert document["check"][0]["ok"] and document["outputs"] == [{"dtype": "f32", "shape": [8, 64]}]


def test_a_wrong_result_is_status_5_and_says_where(kernelglass, tmp_path):
    (tmp_path / "kernels").mkdir()
    kernel = "@elementwise('twice')\ndef twice(x):\n    return x + x\n"
    (tmp_path / "kernels" / "twice.py").write_text(kernel)
    custom = "ops.custom('twice', graph.inputs, graph.inputs[0].type, reference=lambda x: x * 2 + (x == x[3, 1]))"
    path = tmp_path / "wrong.py"
    path.write_text(SCALE.replace("ops.exp(graph.inputs[0]) * 2", custom) + "\nLIBRARY = 'kernels'\n")
    status, out, err = kernelglass("run", path, "--check", "--repeat", "3")
    assert status == 5 and "median" in out
    assert err.startswith("kernelglass: output 0 is ") and "[3, 1]" in err and err.count("\n") == 1


def test_a_size_nobody_gave_is_asked_for(kernelglass, scale):
    scale.write_text(SCALE.replace('DIMS = {"M": 8}', ""))
    assert_one_line(kernelglass("run", scale), 2, "--dim M=N")


SHORT = {"llama-32": "llama-32:2", "many-kernels": "many-kernels:8"}  # the whole ones take minutes


def runs_and_checks(kernelglass, sample):
    status, out, err = kernelglass("run", f"sample:{sample}", "--check", "--repeat", "1", "--processes", "1")
    assert (status, err) == (0, ""), out


@pytest.mark.parametrize("sample", [SHORT.get(sample.name, sample.name) for sample in samples() if not sample.is_model])
def test_every_sample_runs_and_checks(kernelglass, sample):
    runs_and_checks(kernelglass, sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample", list(SHORT))
def test_long_samples_run_and_check_whole(kernelglass, sample):
    runs_and_checks(kernelglass, sample)


def test_a_closed_pipe_is_quiet(scale):
    done = subprocess.run(
        f"{sys.executable} -m app samples | head -c 1",
        shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""


def test_the_module_runs_as_a_program():
    done = in_a_process("samples")
    assert done.returncode == 0 and "sample:mlp" in done.stdout and done.stderr == ""


def test_a_folder_of_other_files_is_no_cache(kernelglass, tmp_path, monkeypatch):
    weights = tmp_path / "mine" / "model" / "weights.bin"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"years of work")
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "mine"))
    assert_one_line(kernelglass("cache", "clear"), 2, "weights.bin", "nothing was deleted")
    status, _, err = kernelglass("compile", "sample:softmax")
    assert status == 0 and err.startswith("kernelglass: note: nothing is cached: ") and err.count("\n") == 1
    assert "not used: " in kernelglass("cache", "info")[1]
    assert weights.read_bytes() == b"years of work" and [p.name for p in weights.parents[1].iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["report.docx", "report.pdf", "report.txt"])
def test_a_report_in_a_format_there_is_not_is_refused(kernelglass, tmp_path, name):
    assert_one_line(kernelglass("report", "1", "-o", tmp_path / name), 2, ".html or .md")
    assert not (tmp_path / name).exists()


def test_exit_statuses_are_in_the_help(kernelglass):
    from app import errors

    words = kernelglass("--help")[1]
    for status in (errors.OK, errors.BAD_INPUT, errors.COMPILATION_FAILED, errors.UNAVAILABLE, errors.CHECK_FAILED):
        assert f"\n    {status} " in words
    assert "130" in words
