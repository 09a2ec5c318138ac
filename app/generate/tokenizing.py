"""Text to tokens and back: by a model's `tokenizer.json`, or by the vocabulary that a GGUF file has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler.errors import ParseError, UnavailableError
from compiler.importers.config_file import quoted
from compiler.importers.weights.gguf_file import Texts

_MOST_BYTES = 64 << 20
_CONTROL_KIND = 3  # of a token in a GGUF vocabulary
# How Llama 3 cuts text before it is merged: contractions, words, numbers of up to three digits, signs, white space.
_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Tokenizer:
    """A tokenizer of the `tokenizers` package."""

    def __init__(self, held: Any, begin: int | None = None) -> None:
        self._held = held
        self._begin = begin

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt, with the one that a text begins with where the model has one."""
        try:
            found = list(self._held.encode(text).ids)
        except Exception as error:  # the package raises plain Exception: a token that its vocabulary lacks, say
            reason = " ".join(str(error).split())[:200]
            raise ParseError(f"the tokenizer cannot cut the prompt: {reason}; give --tokens 1,2,3") from None
        return found if self._begin is None or found[:1] == [self._begin] else [self._begin, *found]

    def encode_batch(self, texts: Sequence[str], longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of several texts, cut at `longest` and filled up to the longest of them, and which of them count."""
        self._held.no_padding()
        self._held.enable_truncation(longest)
        found = [encoding.ids for encoding in self._held.encode_batch(list(texts))]
        tokens = np.zeros((len(found), max(map(len, found), default=0)), np.int64)
        counts = np.zeros(tokens.shape, bool)
        for row, ids in enumerate(found):
            tokens[row, : len(ids)] = ids
            counts[row, : len(ids)] = True
        return tokens, counts

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return self._held.decode(list(tokens), skip_special_tokens=True)


class Stream:
    """Text as it grows: what is certain of it so far. A character may take several tokens."""

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._told = ""

    def add(self, token: int) -> str:
        """What the text gained by one more token."""
        if self._tokenizer is None:
            return f"{token} "
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if text.endswith("\ufffd") or not text.startswith(self._told):
            return ""
        gained, self._told = text[len(self._told) :], text
        return gained


def _package() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise UnavailableError(
            "the tokenizers package is not installed: pip install 'kernelglass[models]', or give --tokens"
        ) from None
    return tokenizers


def tokenizer_of(folder: Path | None, metadata: dict[str, Any] | None, begin: int | None) -> Tokenizer:
    """The tokenizer beside a model's weights, or within them."""
    if folder is not None:
        path = folder / "tokenizer.json"
        if not os.path.isfile(path):
            raise ParseError(f"{folder} has no tokenizer.json; give the prompt as --tokens 1,2,3")
        if path.stat().st_size > _MOST_BYTES:
            raise ParseError(f"{path} is too large for a tokenizer")
        try:
            return Tokenizer(_package().Tokenizer.from_str(path.read_text(encoding="utf-8")), begin)
        except UnavailableError:
            raise
        except Exception as error:  # the package raises plain Exception for what does not read
            raise ParseError(f"{path} does not read: {' '.join(str(error).split())[:200]}") from None
    return _from_gguf(metadata or {}, begin)


def _from_gguf(metadata: dict[str, Any], begin: int | None) -> Tokenizer:
    held_pieces, kind = metadata.get("tokenizer.ggml.tokens"), metadata.get("tokenizer.ggml.model")
    pieces = list(held_pieces) if isinstance(held_pieces, Texts | list) else []
    if not pieces or not all(isinstance(piece, str) for piece in pieces):
        raise ParseError("the file has no vocabulary; give the prompt as --tokens 1,2,3")
    if not isinstance(kind, str) or kind not in ("gpt2", "llama"):
        raise ParseError(f"a vocabulary of the kind {quoted(kind)} is not read here (gpt2, llama); give --tokens 1,2,3")
    package = _package()
    try:
        held = _byte_pairs(package, metadata, pieces) if kind == "gpt2" else _sentence_pieces(package, metadata, pieces)
        kinds = metadata.get("tokenizer.ggml.token_type")
        if isinstance(kinds, list | np.ndarray):
            control = [piece for piece, each in zip(pieces, kinds, strict=False) if each == _CONTROL_KIND]
            held.add_special_tokens(control)
    except Exception as error:  # the package raises plain Exception for what does not fit together
        reason = " ".join(str(error).split())[:200]
        raise ParseError(f"the file's vocabulary does not fit together ({reason}); give --tokens 1,2,3") from None
    begins = metadata.get("tokenizer.ggml.add_bos_token", True) is not False
    return Tokenizer(held, begin if begins else None)


def _byte_pairs(package: Any, metadata: dict[str, Any], pieces: list[str]) -> Any:
    given = metadata.get("tokenizer.ggml.merges")
    listed = given if isinstance(given, Texts | list) else []
    merges = [tuple(pair.split(" ", 1)) for pair in listed if isinstance(pair, str) and " " in pair]
    known = {piece: number for number, piece in enumerate(pieces)}
    held = package.Tokenizer(package.models.BPE(known, merges, ignore_merges=True))
    cut: list[Any] = [package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    if metadata.get("tokenizer.ggml.pre") == "llama-bpe":
        split = package.pre_tokenizers.Split(package.Regex(_LLAMA_3), behavior="isolated")
        cut = [split, package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    held.pre_tokenizer = package.pre_tokenizers.Sequence(cut)
    held.decoder = package.decoders.ByteLevel()
    return held


def _sentence_pieces(package: Any, metadata: dict[str, Any], pieces: list[str]) -> Any:
    """SentencePiece's byte pairs: two pieces merge where their union is one, those of the best score first."""
    scores = metadata.get("tokenizer.ggml.scores")
    known = {piece: number for number, piece in enumerate(pieces)}
    if not isinstance(scores, list | np.ndarray) or len(scores) != len(pieces):
        scores = [0.0] * len(pieces)
    found: list[tuple[float, int, str, str]] = []
    for piece, number in known.items():
        for at in range(1, min(len(piece), 64)):
            left, right = piece[:at], piece[at:]
            if left in known and right in known:
                found.append((-scores[number], min(known[left], known[right]), left, right))
    merges = [(left, right) for _, _, left, right in sorted(found)]
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    name = pieces[unknown] if isinstance(unknown, int) and 0 <= unknown < len(pieces) else None
    held = package.Tokenizer(package.models.BPE(known, merges, unk_token=name, fuse_unk=True, byte_fallback=True))
    normal = package.normalizers
    held.normalizer = normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")])
    back = package.decoders
    held.decoder = back.Sequence(
        [back.Replace("▁", " "), back.ByteFallback(), back.Fuse(), back.Strip(content=" ", left=1, right=0)]
    )
    return held
