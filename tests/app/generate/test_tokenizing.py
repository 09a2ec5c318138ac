"""A GGUF vocabulary cuts text as the tokenizer that it was written from does, and streams come out whole."""

from __future__ import annotations

import pytest

from app.generate.tokenizing import Stream, tokenizer_of
from compiler.errors import ParseError

tokenizers = pytest.importorskip("tokenizers")
TEXT = [
    "the quick brown fox jumps over the lazy dog",
    "the dog and the fox were quick, and it's 1234 past noon\n\n  in the café",
    "naïve über 東京 text, over and over",
]


def trained(held):
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    held.train_from_iterator(TEXT * 3, trainer)
    return held


def metadata(held, kind, **more):
    import json

    model = json.loads(held.to_str())["model"]
    pieces = [piece for piece, _ in sorted(model["vocab"].items(), key=lambda pair: pair[1])]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    types = [3 if piece in ("<s>", "</s>") else 1 for piece in pieces]
    named = {"tokens": pieces, "merges": merges, "token_type": types, "model": kind, "add_bos_token": False}
    return {f"tokenizer.ggml.{name}": value for name, value in (named | more).items()}


def test_byte_pairs_of_a_file_cut_as_their_origin_does():
    held = tokenizers.Tokenizer(tokenizers.models.BPE())
    held.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    held.decoder = tokenizers.decoders.ByteLevel()
    trained(held)
    ours = tokenizer_of(None, metadata(held, "gpt2"), None)
    for text in [*TEXT, "dogs & foxes: 12 000"]:
        assert ours.encode(text) == held.encode(text).ids
        assert ours.decode(ours.encode(text)) == text


def test_sentence_pieces_merge_by_their_scores_and_give_the_text_back():
    held = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True))
    normal = tokenizers.normalizers
    held.normalizer = normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")])
    held.train_from_iterator(TEXT * 3, tokenizers.trainers.BpeTrainer(vocab_size=150, special_tokens=["<unk>"]))
    size = held.get_vocab_size()
    scores = [-float(number) for number in range(size)]  # pieces were made in the order of their merges
    ours = tokenizer_of(None, metadata(held, "llama", scores=scores, unknown_token_id=0), None)
    for text in TEXT:
        assert ours.encode(text) == held.encode(text).ids
        assert ours.decode(ours.encode(text)) == text


def test_the_token_that_texts_begin_with_is_put_first_once():
    held = tokenizers.Tokenizer(tokenizers.models.BPE())
    held.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained(held)
    ours = tokenizer_of(None, metadata(held, "gpt2", add_bos_token=True), 0)
    assert ours.encode("the dog")[0] == 0 and ours.encode("<s>the dog").count(0) == 1


def test_a_stream_tells_a_character_only_when_it_is_whole():
    held = tokenizers.Tokenizer(tokenizers.models.BPE())
    held.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    held.decoder = tokenizers.decoders.ByteLevel()
    trained(held)
    ours = tokenizer_of(None, metadata(held, "gpt2"), None)
    stream, text = Stream(ours), "a snowman ☃ and 🙂"
    told = [stream.add(token) for token in ours.encode(text)]
    assert "".join(told) == text and not any("\ufffd" in part for part in told)


@pytest.mark.parametrize(
    ("given", "words"),
    [({}, "has no vocabulary"), ({"tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.model": "t5"}, "of the kind 't5'")],
)
def test_a_vocabulary_that_cannot_be_read_is_told(given, words):
    with pytest.raises(ParseError, match=words):
        tokenizer_of(None, given, None)


def test_a_damaged_tokenizer_is_told_in_one_line(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": 3}')
    with pytest.raises(ParseError, match="does not read") as refused:
        tokenizer_of(tmp_path, None, None)
    assert "\n" not in str(refused.value)
