"""Where symbols are defined and what instructions do: found in real texts of real kernels."""

from __future__ import annotations

import re
from pathlib import Path
from time import thread_time

import pytest

from app.sources import load_source
from app.viewmodels.compilation import LineText, language_of
from app.viewmodels.text.definitions import definition_at
from app.viewmodels.text.folding import fold_regions, metadata_regions
from app.viewmodels.text.instruction_help import help_for, known_words, sentence
from app.viewmodels.text.text_document import index_text, line_text
from compiler import load_library
from compiler.graph.ops.specs import SPECS
from compiler.options import CompileOptions
from compiler.reading import read_graph

ROOT = Path(__file__).parents[2]
SAMPLES = ("mlp", "softmax", "grayscale", "attention")
STAGES = ("kgen", "kernel", "llvm", "llvm-opt", "asm")


@pytest.fixture(scope="module")
def texts():
    """(sample, target, stage) -> the texts of every kernel."""
    found = {}
    for sample in SAMPLES:
        source = load_source(f"sample:{sample}")
        for target in ("cpu", "sm_90a"):
            options = CompileOptions(target, debug="line-tables")
            model = read_graph(source.graph, options, load_library(*source.library_paths))
            found[sample, target, "mo"] = [model.ir("mo")]
            for stage in STAGES:
                found[sample, target, stage] = [kernel.ir(stage) for kernel in model.kernels]
    return found


def document(text):
    return index_text(line_text(text, ()))


def test_every_intrinsic_that_the_library_names_has_its_sentence_in_llvm_and_mlir():
    library = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kernels").glob("*.py"))
    named = set(re.findall(r'"(llvm(?:\.\w+)+)"', library))
    assert len(named) > 12
    for name in named:
        for language, line in (("llvm", f"  %a = call i32 @{name}(i32 %b)"), ("mlir", f'<{{intrin = "{name}"}}>')):
            assert help_for(language, line, line.index(name) + 6).startswith(f"{name}: "), (language, name)


def test_every_instruction_of_the_samples_has_its_sentence(texts):
    missing = set()
    for (_, target, stage), found in texts.items():
        language = language_of(stage, target)
        for line in (line for text in found for line in text.splitlines()):
            if language == "llvm" and not line.startswith("  "):
                continue
            words = known_words(language, line)
            if language == "llvm":
                words = words[1:2] if "tail call" in line else words[:1]
            missing |= {(language, word) for _, _, word in words if not sentence(language, word)
                        and not (language == "ptx" and word.startswith("%"))}  # fmt: skip
    assert not " ".join(word for _, word in sorted(missing))


def test_every_op_has_its_sentence():
    assert not [name for name in SPECS if not sentence("mlir", name)]


@pytest.mark.parametrize(
    ("language", "line", "words", "expected"),
    [
        ("llvm", "  %3 = fadd float %1, %2", "fadd", "Adds two floating-point"),
        ("ptx", "\t@%p1 fma.rn.f32 \t%r1, %r2, %r3, %r4;", "fma", "rounding once"),
        ("mlir", "  %2 = arith.mulf %0, %1 : f32", "mulf", "Multiplies"),
        ("mlir", "  %relu_0 = mo.relu(%x) : f32", "mo.relu", "max(x, 0)"),
    ],
)
def test_the_instruction_under_the_mouse_is_explained(language, line, words, expected):
    assert expected in help_for(language, line, line.index(words) + 1)
    assert not help_for(language, line, len(line) - 1)


def test_symbols_lead_to_their_definitions(texts):
    llvm = document(texts["mlp", "cpu", "llvm"][0])
    lines = [llvm.line(n) for n in range(llvm.lines)]
    for wanted, mark in ((", !dbg !", "!"), ("%", "%"), ("@", "@")):
        at = next(n for n, line in enumerate(lines) if wanted in line and line.startswith("  ") and " = " in line)
        symbol, found = definition_at(llvm, "llvm", at, lines[at].rindex(mark) + 1)
        assert symbol[0] == mark and found >= 0 and symbol in lines[found], (symbol, lines[at])
    ptx = document(texts["mlp", "sm_90a", "asm"][0])
    lines = [ptx.line(n) for n in range(ptx.lines)]
    at = next(n for n, line in enumerate(lines) if "bra" in line and "$L" in line)
    label, found = definition_at(ptx, "ptx", at, lines[at].index("$L") + 2)
    assert lines[found].startswith(f"{label}:")
    at = next(n for n, line in enumerate(lines) if "add.s64" in line)
    register, found = definition_at(ptx, "ptx", at, lines[at].rindex("%") + 1)
    assert found <= at and register in lines[found].split(",")[0]
    kgen = document(texts["mlp", "cpu", "kernel"][0])
    lines = [kgen.line(n) for n in range(kgen.lines)]
    at = next(n for n, line in enumerate(lines) if "arith.addi %" in line)
    value, found = definition_at(kgen, "mlir", at, lines[at].index("arith.addi %") + 13)
    assert value.startswith("%") and 0 <= found < at and value in lines[found]


def test_metadata_folds_away(texts):
    llvm = document(texts["mlp", "cpu", "llvm"][0])
    regions = metadata_regions(llvm)
    assert regions and regions.items() <= fold_regions(llvm, "llvm").items()
    hidden = {n for begin, end in regions.items() for n in range(begin, end + 1)}
    named = {n for n in range(llvm.lines) if llvm.line(n).startswith(("!", "attributes", "declare"))}
    assert named <= hidden and not [n for n in hidden - named if llvm.line(n).strip()]


def test_metadata_is_known_by_the_beginning_of_lines():
    text = b"declare void @a()\n\ndeclare void @b()\ndefine void @d() {\nabc:\n  ret void\n}\n"
    assert metadata_regions(index_text(LineText(text + b"attributes #0 = { x }\n!0 = !{}\n!1"))) == {0: 2, 7: 9}
    assert metadata_regions(index_text(LineText(b""))) == {}
    assert metadata_regions(index_text(LineText(b"a\nd\n!0 = !{}\n"))) == {}


def test_a_text_that_is_there_is_folded_at_once():
    """Less than what it took to find its lines, which is not the window's time."""
    line = b"  %x = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b), !dbg !12\n"
    text = LineText(line * (1 << 18))
    took = []
    for _ in range(3):
        begun = thread_time()
        document = index_text(text)
        found = thread_time()
        metadata_regions(document)
        took.append((thread_time() - found) / (found - begun))
    assert min(took) < 0.5
