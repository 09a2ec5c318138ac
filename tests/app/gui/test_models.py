"""Models that people have already, in the window: checkpoints, GGUF files, their modules and their weights."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from tiny_checkpoints import checkpoint

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
    assert {"tokens", "past_k0", "new_v3"} <= set(shown.node_table)
    assert window.source.pane.text == ""
    window.runs.view.repeats.setValue(3)
    window.runs.run()
    qtbot.waitUntil(lambda: window.state.run is not None, timeout=WAIT)
    assert window.state.run.ok is True


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
