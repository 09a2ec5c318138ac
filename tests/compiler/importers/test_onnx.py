"""ONNX models: what is read, what is folded, and how a model that cannot be read says so."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from compiler import compile, from_onnx, reference  # noqa: E402
from compiler.errors import CompilerError  # noqa: E402

F32 = TensorProto.FLOAT
I64 = TensorProto.INT64


def tensor(name, shape, kind=F32):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=None, opset=17, functions=()):
    kept = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, kept)
    domains = {function.domain for function in functions}
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs, outputs, **attrs)


def message(made, values=None):
    with pytest.raises(CompilerError) as caught:
        from_onnx(made, values)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_file_compiles_and_agrees_with_onnx_runtime(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((8, 3, 3, 3), np.float32),
        "b": rng.standard_normal(8, np.float32),
        "v": rng.standard_normal((8, 5), np.float32),
        "ends": np.array([0, -1]),
    }
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Reshape", ["p", "ends"], ["f"]),
        node("MatMul", ["f", "v"], ["y"]),
    ]
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, [tensor("x", ["N", 3, 16, 16])], [tensor("y", ["N", 5])], weights), path)
    graph = from_onnx(path)
    assert graph.input_types[0].shape[0] != 1 and graph.symbols == {"N"}
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    compiled = compile(graph)
    for batch in (1, 3):
        x = rng.standard_normal((batch, 3, 16, 16), np.float32)
        np.testing.assert_allclose(compiled.execute(x)[0], session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_sizes_that_the_model_computes_are_folded():
    """Shape, Gather, Concat and the like leave nothing behind but one reshape with symbolic sizes."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Mul", ["n", "two"], ["m"]),
        node("Unsqueeze", ["m", "zero1"], ["m1"]),
        node("Concat", ["m1", "minus"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = {"zero": np.array(0), "two": np.array(2), "zero1": np.array([0]), "minus": np.array([-1])}
    graph = from_onnx(model(nodes, [tensor("x", ["N", 4, 6])], [tensor("y", None)], weights))
    assert [op.name for op in graph.ops] == ["mo.reshape"]
    assert str(graph.output_types[0].shape) == "(2*N, 12)"


def test_nodes_and_weights_keep_their_names():
    nodes = [
        node("MatMul", ["x", "/fc/weight"], ["t"], name="/layers.0/fc/MatMul"),
        node("Softplus", ["t"], ["y"], name="/layers.0/act"),
    ]
    weights = {"/fc/weight": np.ones((3, 2), np.float32)}
    graph = from_onnx(model(nodes, [tensor("x", [2, 3])], [tensor("y", [2, 2])], weights))
    names = [op.nodes[0] for op in graph.ops]
    assert "fc.weight" in names and "layers.0.fc.MatMul" in names and names[-1] == "layers.0.act"
    assert all(
        name.startswith("layers.0.act")
        for name in names[names.index("layers.0.fc.MatMul") + 1 :]
        if "constant" not in name
    )


def test_values_fix_inputs():
    made = model(
        [node("Reshape", ["x", "shape"], ["y"])], [tensor("x", [2, 6]), tensor("shape", [2], I64)], [tensor("y", None)]
    )
    assert "'shape' must be known" in message(made) and "values={'shape': ...}" in message(made)
    graph = from_onnx(made, {"shape": np.array([3, 4])})
    assert graph.input_names == ("x",) and graph.output_types[0].shape == (3, 4)
    assert "which is no input" in message(made, {"shade": 1})


def test_functions_are_inlined_with_their_attributes():
    scaled = helper.make_function(
        "own",
        "Scaled",
        ["a"],
        ["out"],
        [
            helper.make_node("Constant", [], ["k"], value_float=2.0),
            helper.make_node("Mul", ["a", "k"], ["m"]),
            helper.make_node("LeakyRelu", ["m"], ["out"]),
        ],
        [helper.make_opsetid("", 17)],
        ["alpha"],
    )
    scaled.node[2].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=1))
    made = model(
        [node("Scaled", ["x"], ["y"], domain="own", alpha=0.5)],
        [tensor("x", [3])],
        [tensor("y", [3])],
        functions=[scaled],
    )
    (y,) = reference(from_onnx(made), np.array([-1, 0, 2], np.float32))
    np.testing.assert_array_equal(y, [-1, 0, 4])


def test_known_branches_are_taken_and_known_loops_unrolled():
    then = helper.make_graph([node("Neg", ["x"], ["t"])], "then", [], [tensor("t", [2])])
    other = helper.make_graph([node("Abs", ["x"], ["e"])], "else", [], [tensor("e", [2])])
    body = helper.make_graph(
        [
            node("Add", ["carry", "step"], ["next"]),
            node("Identity", ["go"], ["on"]),
            node("Mul", ["next", "next"], ["kept"]),
        ],
        "body",
        [tensor("i", [], I64), tensor("go", [], TensorProto.BOOL), tensor("carry", [2])],
        [tensor("on", [], TensorProto.BOOL), tensor("next", [2]), tensor("kept", [2])],
    )
    weights = {"yes": np.array(True), "three": np.array(3), "step": np.ones(2, np.float32)}
    nodes = [
        node("If", ["yes"], ["b"], then_branch=then, else_branch=other),
        node("Loop", ["three", "", "b"], ["last", "all"], body=body),
    ]
    made = model(nodes, [tensor("x", [2])], [tensor("last", [2]), tensor("all", [3, 2])], weights)
    last, every = reference(from_onnx(made), np.array([1, 2], np.float32))
    np.testing.assert_array_equal(last, [2, 1])
    np.testing.assert_array_equal(every, [[0, 1], [1, 0], [4, 1]])


def test_every_missing_op_is_named_at_once():
    nodes = [
        node("Frob", ["x"], ["a"], domain="com.acme", name="one"),
        node("NonMaxSuppression", ["a", "a"], ["b"], name="two"),
        node("Frob", ["b"], ["y"], domain="com.acme"),
    ]
    made = model(nodes, [tensor("x", [2])], [tensor("y", [2])])
    made.opset_import.append(helper.make_opsetid("com.acme", 3))
    text = message(made)
    assert "2 ops" in text and "com.acme.Frob (opset 3, node 'one' and 1 more)" in text
    assert "NonMaxSuppression (opset 17, node 'two': the size of its result depends on the data)" in text


def external(path, location, **more):
    weight = TensorProto(name="w", data_type=F32, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=str(value))
    made = model([node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], [tensor("y", [4])])
    made.graph.initializer.append(weight)
    path.write_bytes(made.SerializeToString())
    return path


def test_external_data_is_read_from_the_models_folder_only(tmp_path):
    inside = tmp_path / "models"
    (inside / "data").mkdir(parents=True)
    array = np.arange(8, dtype=np.float32)
    (inside / "data" / "w.bin").write_bytes(array.tobytes())
    (tmp_path / "secret.bin").write_bytes(array.tobytes())
    os.symlink(tmp_path / "secret.bin", inside / "link.bin")
    os.symlink(tmp_path, inside / "up")
    good = from_onnx(external(inside / "m.onnx", "data/w.bin", offset=16, length=16))
    np.testing.assert_array_equal(reference(good, np.zeros(4, np.float32))[0], array[4:])
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "data/../../secret.bin", "", "..\\secret.bin"):
        assert "not a path inside" in message(external(inside / "m.onnx", location))
    for location in ("link.bin", "up/secret.bin"):
        assert "leads out of the model's folder" in message(external(inside / "m.onnx", location))
    assert "is no regular file" in message(external(inside / "m.onnx", "data"))
    assert "there is no file" in message(external(inside / "m.onnx", "data/other.bin"))
    assert "8 bytes" in message(external(inside / "m.onnx", "data/w.bin", offset=24, length=8))
    assert "fewer than" in message(external(inside / "m.onnx", "data/w.bin", offset=24))
    assert "not numbers" in message(external(inside / "m.onnx", "data/w.bin", offset="a"))
    assert "give from_onnx the model's path" in message(onnx.load(inside / "m.onnx", load_external_data=False))


def hub_cache(tmp_path, name="model.onnx", data="model.onnx_data"):
    """A download as the Hugging Face hub keeps it: names in a snapshot are links to blobs named by their digests."""
    repository = tmp_path / "models--org--name"
    blobs, snapshot = repository / "blobs", repository / "snapshots" / "5f1c"
    (snapshot / name).parent.mkdir(parents=True)
    blobs.mkdir()
    external(blobs / "ab01", data, offset=16, length=16)
    (blobs / "cd02").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    for link, blob in ((snapshot / name, "ab01"), ((snapshot / name).parent / data, "cd02")):
        link.symlink_to(os.path.relpath(blobs / blob, link.parent))
    return snapshot / name


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_external_data_is_read_from_the_blobs_of_a_hub_cache(name, tmp_path):
    graph = from_onnx(hub_cache(tmp_path, name))
    np.testing.assert_array_equal(reference(graph, np.zeros(4, np.float32))[0], np.arange(4, 8, dtype=np.float32))


def test_a_link_that_stays_in_the_models_folder_is_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    (tmp_path / "w.bin").symlink_to("data/w.bin")
    (tmp_path / "other").symlink_to(tmp_path / "data", target_is_directory=True)
    for location in ("w.bin", "other/w.bin"):
        graph = from_onnx(external(tmp_path / "m.onnx", location, offset=16, length=16))
        np.testing.assert_array_equal(reference(graph, np.zeros(4, np.float32))[0], np.arange(4, 8, dtype=np.float32))


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("../../../secret.bin", "leads out of the model's folder"),
        ("../../refs/main", "leads out of the model's folder"),
        ("../../../models--org--other/blobs/cd02", "leads out of the model's folder"),
        ("../../blobs/deeper/cd02", "leads out of the model's folder"),
        ("../../blobs/out", "leads out of the model's folder"),  # a blob that is a link itself
        ("../../blobs", "leads out of the model's folder"),
        ("/dev/zero", "leads out of the model's folder"),
        ("../../blobs/pipe", "is no regular file"),
        ("../../blobs/none", "there is no file"),
        ("model.onnx_data", "there is no file"),  # a circle
    ],
)
def test_a_link_of_a_hub_cache_leads_to_a_blob_of_its_own_repository_or_nowhere(target, says, tmp_path):
    model = hub_cache(tmp_path)
    repository, array = tmp_path / "models--org--name", np.arange(8, dtype=np.float32).tobytes()
    (repository / "refs").mkdir()
    (repository / "blobs" / "deeper").mkdir()
    (tmp_path / "models--org--other" / "blobs").mkdir(parents=True)
    for place in ("secret.bin", "models--org--name/refs/main", "models--org--name/blobs/deeper/cd02",
                  "models--org--other/blobs/cd02"):  # fmt: skip
        (tmp_path / place).write_bytes(array)
    (repository / "blobs" / "out").symlink_to(tmp_path / "secret.bin")
    os.mkfifo(repository / "blobs" / "pipe")
    link = model.with_name("model.onnx_data")
    link.unlink()
    link.symlink_to(target)
    found = message(model)
    assert says in found and "\n" not in found


def test_a_model_that_is_a_link_does_not_open_the_folder_it_lies_in_to_other_layouts(tmp_path):
    """Only a repository's `blobs` are beside its snapshots: a link into any other folder shows nothing of that."""
    home, inside = tmp_path / "home", tmp_path / "archive"
    home.mkdir()
    inside.mkdir()
    external(home / "m.onnx", "w.bin", offset=16, length=16)
    (home / "secret.bin").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    (inside / "m.onnx").symlink_to(home / "m.onnx")
    (inside / "w.bin").symlink_to(home / "secret.bin")
    assert "leads out of the model's folder" in message(inside / "m.onnx")


@pytest.mark.parametrize(
    "made, says",
    [
        (
            lambda: model(
                [node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"])], [tensor("x", [2])], [tensor("b", [2])]
            ),
            "cyclic or out of order",
        ),
        (lambda: model([node("Relu", ["x"], ["y"])], [tensor("x", [-3])], [tensor("y", [2])]), "size -3"),
        (
            lambda: model([node("ConstantOfShape", ["s"], ["y"])], [], [tensor("y", None)], {"s": np.array([-5])}),
            "between 0",
        ),
        (lambda: model([node("Relu", ["x"], ["y"])], [tensor("x", None)], [tensor("y", None)]), "has no shape"),
        (lambda: model([node("Sum", [], ["y"])], [tensor("x", [2])], [tensor("y", [2])]), "has no inputs"),
        (
            lambda: model(
                [node("Add", ["x", "w"], ["y"])], [tensor("x", [2])], [tensor("y", [2])], {"w": np.ones(3, np.float32)}
            ),
            "do not broadcast",
        ),
        (
            lambda: model([node("Relu", ["x"], ["y"])], [tensor("x", [2], TensorProto.COMPLEX64)], [tensor("y", [2])]),
            "type complex64",
        ),
        (lambda: model([node("Relu", ["x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])], opset=99), "opset 99"),
        (lambda: model([node("Relu", ["x"], ["y"])], [tensor("x", [2])], [tensor("z", [2])]), "made by no node"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said_in_one_line(made, says):
    assert says in message(made())


def test_damaged_files_are_refused_in_one_line(tmp_path):
    good = model([node("Relu", ["x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])]).SerializeToString()
    path = tmp_path / "m.onnx"
    for data, says in ((good[: len(good) // 2], ""), (b"", "no graph"), (b"\xff" * 64, "damaged"), (b"MZ", "")):
        path.write_bytes(data)
        text = message(path)
        assert says in text and str(path) in text
    assert "there is no file" in message(tmp_path / "none.onnx")
    assert "is a folder" in message(tmp_path)


def test_declared_gigabytes_are_not_allocated(tmp_path):
    import tracemalloc

    made = model([node("Add", ["x", "w"], ["y"])], [tensor("x", [2])], [tensor("y", [2])])
    made.graph.initializer.append(TensorProto(name="w", data_type=F32, dims=[1 << 29], raw_data=b"1234"))
    tracemalloc.start()
    assert "should hold 2147483648" in message(made)
    grown = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert grown < 4 << 20
    shapes = [node("ConstantOfShape", ["s"], ["c"]), node("Expand", ["c", "s"], ["e"]), node("ReduceSum", ["e"], ["y"])]
    graph = from_onnx(model(shapes, [tensor("x", [1])], [tensor("y", None)], {"s": np.array([1 << 20, 1 << 20])}))
    assert graph.output_types[0].shape == (1, 1)


def test_functions_that_call_each_other_end():
    def calling(name, other):
        return helper.make_function(
            "own",
            name,
            ["a"],
            ["c"],
            [helper.make_node(other, ["a"], ["b"], domain="own"), helper.make_node(other, ["b"], ["c"], domain="own")],
            [helper.make_opsetid("own", 1)],
        )

    made = model(
        [node("F0", ["x"], ["y"], domain="own")],
        [tensor("x", [2])],
        [tensor("y", [2])],
        functions=[calling("F0", "F1"), calling("F1", "F0")],
    )
    assert "without end" in message(made)
    doubling = [calling(f"F{at}", f"F{at + 1}") for at in range(40)]
    doubling.append(
        helper.make_function(
            "own", "F40", ["a"], ["c"], [helper.make_node("Relu", ["a"], ["c"])], [helper.make_opsetid("", 17)]
        )
    )
    begun = time.process_time()  # a machine that does something else is no hang
    made = model([node("F0", ["x"], ["y"], domain="own")], [tensor("x", [2])], [tensor("y", [2])], functions=doubling)
    assert "without end" in message(made)
    assert time.process_time() - begun < 5


def chain(count):
    """A model of so many nodes, with the sizes computed on the way that exporters leave in."""
    nodes, last = [], "x"
    for at in range(count // 4):
        nodes += [
            node("Shape", [last], [f"s{at}"]),
            node("Mul", [last, "w"], [f"m{at}"], name=f"/layer.{at}/mul"),
            node("Reshape", [f"m{at}", f"s{at}"], [f"r{at}"], name=f"/layer.{at}/view"),
            node("Relu", [f"r{at}"], [f"y{at}"], name=f"/layer.{at}/relu"),
        ]
        last = f"y{at}"
    return model(nodes, [tensor("x", ["N", 8])], [tensor(last, ["N", 8])], {"w": np.ones((1, 8), np.float32)})


def test_importing_is_linear(tmp_path):
    times = []
    for count in (1000, 4000):
        made = chain(count)
        begun = time.process_time()
        from_onnx(made)
        times.append(time.process_time() - begun)
    assert times[1] < 12 * times[0]


@pytest.mark.slow
def test_ten_thousand_nodes_import_in_two_seconds(tmp_path):
    path = tmp_path / "long.onnx"
    onnx.save(chain(10_000), path)
    begun = time.perf_counter()
    graph = from_onnx(path)
    assert time.perf_counter() - begun < 2
    assert len(graph.ops) >= 5000


def _mutants(seeds, count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        data = bytearray(seeds[rng.integers(len(seeds))])
        for _ in range(rng.integers(1, 6)):
            at = int(rng.integers(len(data)))
            kind = rng.integers(4)
            if kind == 0:
                data[at] = rng.integers(256)
            elif kind == 1:
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 2:
                del data[at : at + int(rng.integers(1, 9))]
            else:
                data[at:at] = data[at : at + int(rng.integers(1, 17))]
            if not data:
                data = bytearray(b"\0")
        yield bytes(data)


def _survives(data, path):
    """A graph or one line, in less than a second, with no more memory than the file warrants."""
    import tracemalloc

    path.write_bytes(data)
    tracemalloc.start()
    begun = time.process_time()
    try:
        from_onnx(path)
    except CompilerError as error:
        assert "\n" not in str(error)
    took = time.process_time() - begun
    grown = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 1, f"{took} s"
    assert grown < 4 * len(data) + (4 << 20), f"{grown} bytes for a file of {len(data)}"


def _seeds():
    rng = np.random.default_rng(0)
    conv = model(
        [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2])],
        [tensor("x", ["N", 2, 8, 8])],
        [tensor("y", None)],
        {"w": rng.random((4, 2, 3, 3), np.float32)},
    )
    lstm = model(
        [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)],
        [tensor("x", [3, 1, 2])],
        [tensor("y", None)],
        {"w": rng.random((1, 8, 2), np.float32), "r": rng.random((1, 8, 2), np.float32)},
    )
    sized = model(
        [
            node("ConstantOfShape", ["s"], ["c"]),
            node("Tile", ["c", "s"], ["t"]),
            node("Pad", ["t", "p"], ["q"]),
            node("Resize", ["q", "", "", "z"], ["y"]),
        ],
        [tensor("x", [1])],
        [tensor("y", None)],
        {"s": np.array([2, 3]), "p": np.array([1, 0, 0, 1]), "z": np.array([7, 20])},
    )
    return [made.SerializeToString() for made in (conv, lstm, sized, chain(40))]


def test_mutated_files_end_in_a_graph_or_one_line(tmp_path):
    for data in _mutants(_seeds(), 150):
        _survives(data, tmp_path / "m.onnx")


@pytest.mark.slow
def test_twenty_thousand_mutated_files(tmp_path):
    for data in _mutants(_seeds(), 20_000):
        _survives(data, tmp_path / "m.onnx")
