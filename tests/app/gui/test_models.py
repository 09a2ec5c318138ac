"""Models that people have already, in the window: checkpoints, GGUF files, their modules and their weights."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from tiny_checkpoints import checkpoint, hub_download

pytestmark = pytest.mark.gui
WAIT = 60_000


def settle(qtbot, window, source):
    qtbot.waitUntil(lambda: window.state.compilation and window.state.compilation.source == str(source), timeout=WAIT)
    qtbot.waitUntil(lambda: not window.compiler.busy and not window.graph.model.pending, timeout=WAIT)


def drop(window, path):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(10, 10), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
    )


def test_a_dropped_checkpoint_opens_as_its_decoding_graph_and_runs(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny-llama-0.1")
    drop(window, folder)
    settle(qtbot, window, folder)
    shown = window.state.compilation
    assert shown.name == "tiny-llama-0.1" and dict(shown.dims) == {"P": 63}
    assert {"tokens", "past_k0", "new_v3", "model.layers.2.mlp.gate_proj.weight"} <= set(shown.node_table)
    assert window.source.pane.text == ""
    window.runs.view.repeats.setValue(3)
    window.runs.view.sizes.clear()
    window.runs.run()
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=WAIT)
    assert window.state.run.ok is True


def test_the_graph_of_a_language_model_is_chosen(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny", num_hidden_layers=1)
    choices = window.opening._choices
    assert not choices.graph.isVisible()
    window.opening.open(str(folder))
    settle(qtbot, window, folder)
    assert choices.graph.isVisible() and choices.graph.value == "decode"
    choices.graph_chosen.emit("prefill")
    settle(qtbot, window, f"{folder}#prefill")
    shown = window.state.compilation
    assert dict(shown.dims) == {"T": 64} and "past_k0" not in shown.node_table and shown.name == "tiny-prefill"
    assert choices.graph.value == "prefill" and window.settings.recent()[0] == f"{folder}#prefill"
    view = window.generating.view
    assert view.text.placeholderText().startswith("Type what the text begins with")
    asked = view.kind.value, view.prompt.text(), view.most.value()
    view.kind.set_value("tokens")
    view.prompt.setText("1, 2")
    view.most.setValue(2)
    window.generating.generate()  # text takes both graphs, whichever is on show
    qtbot.waitUntil(lambda: len(window.generating.served) == 1, timeout=WAIT)
    view.kind.set_value(asked[0])  # the window is the next test's too
    view.prompt.setText(asked[1])
    view.most.setValue(asked[2])
    choices.graph_chosen.emit("decode")
    settle(qtbot, window, folder)
    window.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: not choices.graph.isVisible(), timeout=WAIT)
    (tmp_path / "code.py").write_text("1")
    for name in (tmp_path / "code.py", "sample:mlp"):
        assert not window.opening.open(f"{name}#prefill") and "has one graph" in window.log.bar.text


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_of_a_checkpoint_means_its_folder(qtbot, compiled, tmp_path, name):
    folder = checkpoint(tmp_path / "tiny", num_hidden_layers=1)
    assert compiled.opening.open(str(folder / name))
    settle(qtbot, compiled, folder)
    assert compiled.settings.recent()[0] == str(folder)


def test_a_checkpoint_that_cannot_be_built_is_one_line_and_an_empty_folder_is_not_opened(qtbot, compiled, tmp_path):
    folder = checkpoint(tmp_path / "other", model_type="gpt9")
    assert compiled.opening.open(str(folder))
    qtbot.waitUntil(lambda: "gpt9" in compiled.source.pane.bar.text or "gpt9" in compiled.log.bar.text, timeout=WAIT)
    (tmp_path / "empty").mkdir()
    assert not compiled.opening.open(str(tmp_path / "empty"))
    assert "cannot be opened" in compiled.log.bar.text


def test_a_gguf_file_opens(qtbot, compiled, tmp_path):
    gguf = pytest.importorskip("gguf")
    import numpy as np

    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for add, value in (
        (writer.add_block_count, 1), (writer.add_context_length, 32), (writer.add_embedding_length, 32),
        (writer.add_feed_forward_length, 32), (writer.add_head_count, 2), (writer.add_head_count_kv, 2),
        (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_rope_dimension_count, 16), (writer.add_vocab_size, 64),
    ):  # fmt: skip
        add(value)
    chance = np.random.default_rng(0)
    squares = [
        f"blk.0.{name}" for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    ]
    for name, shape in {"token_embd": (64, 32), **dict.fromkeys(squares, (32, 32))}.items():
        kind = gguf.GGMLQuantizationType.Q8_0
        numbers = gguf.quants.quantize(chance.normal(0, 0.3, shape).astype(np.float32), kind)
        writer.add_tensor(f"{name}.weight", numbers, raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    drop(compiled, path)
    settle(qtbot, compiled, path)
    assert compiled.state.compilation.name == "tiny" and compiled.state.compilation.calls


def test_a_model_of_a_hub_cache_opens_by_its_link(qtbot, compiled, tmp_path):
    """What the link leads to has neither the suffix nor the weights beside it."""
    onnx = pytest.importorskip("onnx")
    import numpy as np

    weight = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    sizes = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 4]) for name in "xy"]
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    made = onnx.helper.make_model(onnx.helper.make_graph([node], "g", sizes[:1], sizes[1:], [weight]))
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="model.onnx_data", size_threshold=0)
    link = hub_download(tmp_path / "hub", path, tmp_path / "model.onnx_data") / path.name
    drop(compiled, link)
    settle(qtbot, compiled, link)
    assert compiled.state.compilation.name == "model" and compiled.state.compilation.calls


def nested(window):
    """The titles of the frames on show, each with those around it."""
    frames = window.graph.model.scene.frames
    found = []
    for frame in frames:
        names, at = [frame.title], frame.parent
        while at >= 0:
            names.insert(0, frames[at].title)
            at = frames[at].parent
        found.append("/".join(names))
    return found


def test_a_checkpoint_folds_by_its_modules(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny")
    window.opening.open(str(folder))
    settle(qtbot, window, folder)
    graph, shown = window.graph, window.state.compilation
    assert graph.panel.folding.isVisible() and not graph.model.folds.by_module
    graph.panel.fold_by("modules")
    qtbot.waitUntil(lambda: not graph.model.pending, timeout=WAIT)
    closed = [label for label, kind in zip(graph.model.scene.labels, graph.model.scene.kinds) if kind == "module"]
    assert {"layers.0", "layers.3"} <= set(closed) and nested(window) == []
    graph.panel.view.toggle(open_key(graph))
    qtbot.waitUntil(lambda: not graph.model.pending, timeout=WAIT)
    assert nested(window)[0] == "layers.0"
    inner = next(node.name for node in shown.nodes if node.module == "layers.2/mlp" and node.call >= 0)
    assert graph.model.expose([inner])
    qtbot.waitUntil(lambda: not graph.model.pending, timeout=WAIT)
    assert any(path.startswith("layers.2") for path in nested(window))
    assert graph.model.scene.kinds[graph.model.scene.box_of[inner]] == "op"
    window.graph.model.fold_repeats(True)
    qtbot.waitUntil(lambda: not graph.model.pending, timeout=WAIT)
    assert not graph.model.folds.by_module


def open_key(graph):
    """The key of the closed module layers.0."""
    scene = graph.model.scene
    return next(key for key, label in zip(scene.keys, scene.labels) if key and label == "layers.0")


def test_a_graph_without_modules_offers_none(compiled):
    assert not compiled.graph.panel.folding.isVisible()
    compiled.graph.panel.fold_by("modules")
    assert not compiled.graph.model.folds.by_module


def test_a_weight_shows_its_statistics_when_asked(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny", num_hidden_layers=1)
    window.opening.open(str(folder))
    settle(qtbot, window, folder)
    inspector = window.explorer.inspector
    weight = max((n for n in window.state.compilation.nodes if n.kind == "constant"), key=lambda n: len(n.shape))
    window.state.selection.select([weight.name])
    qtbot.waitUntil(lambda: "Read statistics" in inspector.toPlainText(), timeout=WAIT)
    assert "deviation" not in inspector.toPlainText()  # nothing is read before it is asked for
    some = weight.attributes.removeprefix("value=[").split(", ")
    assert len(some) > 3 and max(map(len, some)) < 14, "as many digits as anybody reads"
    assert some[-1] == "...]", "no number is cut"
    window.features.do("weights")
    qtbot.waitUntil(lambda: "deviation" in inspector.toPlainText(), timeout=WAIT)
    assert "NaN" in inspector.toPlainText() and "all of them" in inspector.toPlainText()
    assert "histogram:" in inspector.toHtml()
    window.state.selection.select([n.name for n in window.state.compilation.nodes if n.kind == "op"][:1])
    qtbot.waitUntil(lambda: "deviation" not in inspector.toPlainText(), timeout=WAIT)


def test_text_is_generated_streamed_kept_and_compared_by_flow(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny", num_hidden_layers=1)
    feature, view = window.generating, window.generating.view
    feature.generate()
    assert "Open a language model" in view.bar.text
    window.opening.open(str(folder))
    settle(qtbot, window, folder)
    feature.generate()
    assert "type a prompt first" in view.bar.text
    view.kind.set_value("tokens")
    view.prompt.setText("1, 17, 42")
    view.flow.set_value("both")
    view.most.setValue(5)
    feature.generate()
    assert view.start.text() == "Stop"
    qtbot.waitUntil(lambda: len(feature.served) == 2, timeout=WAIT)
    first, second = (each.generation for each in feature.served)
    assert first.tokens == second.tokens and view.agreement.text() == "The tokens are the same"
    assert not view.agreement.isHidden()
    assert view.text.toPlainText().split() == [str(token) for token in first.tokens]
    rows = {row.name: row.values for row in view.table.model._records}
    assert rows["input tokens"] == {"per-kernel": "3", "all-kernel": "3"}
    assert {"start-up", "time to first token", "prefill rate", "time per output token", "decode rate", "total"} <= set(
        rows
    )
    runs = {each.run for each in feature.served}
    qtbot.waitUntil(lambda: runs <= {row.number for row in window.runs.list.view.model._records}, timeout=WAIT)
    assert view.start.text() == "Generate" and 0 not in runs


def test_what_cannot_be_generated_is_said_and_stopping_leaves_the_text(qtbot, compiled, tmp_path):
    window, folder = compiled, checkpoint(tmp_path / "tiny", num_hidden_layers=1)
    feature, view = window.generating, window.generating.view
    window.opening.open(str(folder))
    settle(qtbot, window, folder)
    view.kind.set_value("tokens")
    view.prompt.setText("1, 9999")
    feature.generate()
    qtbot.waitUntil(lambda: "tokens are 0 to 63" in view.bar.text, timeout=WAIT)
    view.prompt.setText("1, 2")
    feature.generate()
    assert feature.cancel() and view.start.text() == "Generate" and not feature.cancel()


def test_a_pytorch_export_opens_after_it_is_trusted(qtbot, compiled, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    window, path = compiled, tmp_path / "net.pt2"
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    torch.export.save(torch.export.export(module, (torch.ones(1, 3),)), path)
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: True)
    assert window.opening.open(str(path))
    settle(qtbot, window, path)
    assert {node.op for node in window.state.compilation.nodes} >= {"matmul", "relu"}
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: pytest.fail("asked again"))
    assert window.opening.open(str(path))
