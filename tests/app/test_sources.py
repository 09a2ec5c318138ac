import pytest
from tiny_checkpoints import checkpoint, hub_download

from app.sources import load_source, samples
from compiler.errors import CompilerError, ParseError

GOOD = """
from compiler import Graph, TensorType

def build():
    graph = Graph("g", inputs=[TensorType("f32", ("M",))])
    with graph:
        graph.output(graph.inputs[0] + 1)
    return graph
"""


@pytest.fixture
def source(tmp_path):
    def write(text, name="graph.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    "sample", [sample for sample in samples() if not sample.is_model], ids=lambda sample: sample.name
)
def test_samples_load_and_describe_themselves(sample):
    loaded = load_source(f"sample:{sample.name}")
    assert sample.description.endswith(".") and loaded.name == sample.name
    assert set(loaded.graph.symbols) == set(loaded.dims)
    loaded.graph.verify()


def test_a_file_may_say_sizes_and_kernels(source, tmp_path):
    (tmp_path / "mine").mkdir()
    loaded = load_source(source(GOOD + 'DIMS = {"M": 3}\nLIBRARY = "mine"\n'))
    assert (loaded.name, loaded.dims, loaded.library_paths) == ("graph", {"M": 3}, (tmp_path / "mine",))


def test_a_file_may_import_its_neighbours_and_is_read_anew_each_time(source):
    source("LENGTH = 7\n", "neighbour.py")
    text = GOOD.replace("def build", "from neighbour import LENGTH\n\ndef build").replace('("M",)', "(LENGTH,)")
    assert load_source(source(text)).graph.input_types[0].shape == (7,)
    assert load_source(source(text.replace("(LENGTH,)", "(LENGTH+1,)"))).graph.input_types[0].shape == (8,)


@pytest.mark.parametrize(
    "text, words",
    [
        ("def build(:", r"graph\.py:1:.* not valid Python"),
        ("x = 1", r"graph\.py: no build\(\)"),
        ("build = 3", r"graph\.py: no build\(\)"),
        ("\ndef build(x): pass", r"graph\.py:2: build\(\) must take no arguments"),
        ("def build(): return 7", r"graph\.py: build\(\) returned int"),
        ("def build():\n    return 1 / 0", r"graph\.py:2: ZeroDivisionError: division by zero"),
        ("def build():\n    raise SystemExit(3)", r"graph\.py:2: SystemExit: 3"),
        ("import nonesuch_at_all", r"graph\.py:1: ModuleNotFoundError"),
        (GOOD.replace("graph.output(", "("), r"graph\.py: .* without outputs"),
        (GOOD.replace("+ 1", "@ 1"), r"graph\.py:7: matmul"),
        (GOOD + "DIMS = [1]", r"DIMS must map"),
        (GOOD + "DIMS = {'M': -1}", r"DIMS must map"),
        (GOOD + "LIBRARY = 'nowhere'", r"no folder"),
        ("def build():\n    raise ValueError('two\\nlines')", r"graph\.py:2: ValueError: two lines"),
        ("\0", "not a Python file|not valid Python"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_with_its_place(source, text, words):
    with pytest.raises(CompilerError, match=words) as caught:
        load_source(source(text))
    assert "\n" not in str(caught.value)


def test_places_that_are_not_files(tmp_path):
    with pytest.raises(ParseError, match="no file"):
        load_source(str(tmp_path / "none.py"))
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ParseError, match="is a folder"):
        load_source(str(tmp_path / "folder.py"))
    (tmp_path / "bytes.mlir").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match="not a text file"):
        load_source(str(tmp_path / "bytes.mlir"))


def test_a_download_of_the_hubs_is_a_checkpoint_with_its_repositorys_name(tmp_path):
    snapshot = hub_download(tmp_path / "hub", *checkpoint(tmp_path / "written", num_hidden_layers=1).iterdir())
    for place in (snapshot, snapshot / "model.safetensors", snapshot / "config.json"):
        loaded = load_source(str(place))
        assert loaded.name == "tiny-net" and loaded.graph.ops


@pytest.mark.parametrize("suffix", ["", ".py", ".mlir", ".onnx", ".pt2", ".gguf", ".kgx", "/config.json", "#prefill"])
@pytest.mark.parametrize("name", ["x" * 5000, "y\0z"])
def test_a_name_that_no_file_can_have_is_a_line(name, suffix):
    with pytest.raises(CompilerError) as told:
        load_source(name + suffix)
    assert "\n" not in str(told.value)
