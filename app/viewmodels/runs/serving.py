"""Text from a language model in the window: what is asked, each piece of text as it comes, and the serving table."""

from __future__ import annotations

from dataclasses import dataclass

from app.generate.child import Generate
from app.generate.generation import Generation, figure_text
from app.viewmodels.requests import Progress

READY = "Type what the text begins with, then Generate: it comes here, word by word."
EMPTY = "Open a language model's weights (a .gguf file, or a folder of config.json and safetensors), then Generate."


@dataclass(frozen=True)
class GenerateRequest:
    """Generate once for each flow, one after the other, and keep each as a run."""

    asked: Generate
    flows: tuple[str, ...]


@dataclass(frozen=True)
class GenerateProgress(Progress):
    """A piece of text of a flow."""

    flow: str = ""
    text: str = ""


@dataclass(frozen=True)
class Served:
    """What came of one flow: the run it is kept as, 0 where it is not, and then why."""

    flow: str
    run: int
    generation: Generation
    note: str = ""


@dataclass(frozen=True)
class ServingRow:
    """A line of the serving table: a figure, for each flow."""

    name: str
    values: dict[str, str]


def serving_rows(served: tuple[Served, ...]) -> list[ServingRow]:
    """The serving table: what `kernelglass generate` prints, a column a flow."""
    if not served:
        return []
    names = list(served[0].generation.figures)
    rows = [
        ServingRow(name, {each.flow: figure_text(name, each.generation.figures[name]) for each in served})
        for name in names
    ]
    kept = {each.flow: str(each.run) if each.run else "not kept" for each in served}
    return [*rows, ServingRow("run", kept)]


def same_tokens(served: tuple[Served, ...]) -> bool | None:
    """Whether both flows made the same tokens; of one alone that is no question."""
    return len({each.generation.tokens for each in served}) == 1 if len(served) > 1 else None


def read_tokens(text: str) -> tuple[int, ...]:
    """Token numbers with commas or spaces between; a ValueError that says what is wrong."""
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(f"tokens are numbers with commas between, as in 1, 17, 42, not {text[:40]!r}")
    return tuple(map(int, parts))
