"""`kernelglass generate MODEL --prompt TEXT`: text from a language model, and how long each part of it took."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli.options import Database, Finite, json_option, level_option
from app.cli.output import complain, print_json, say
from app.cli.progress import progress_line
from app.text_tables import table
from compiler.options import FLOWS
from compiler.printable import printable_lines

if TYPE_CHECKING:
    from app.generate.child import Generate
    from app.generate.generation import Generation
    from profiler.keeping import Begun

BOTH = "both"


@click.command("generate")
@click.argument("model", metavar="MODEL")
@click.option("--prompt", metavar="TEXT", help="What the text begins with.")
@click.option("--tokens", metavar="1,2,3", help="The prompt as token numbers, for a model without a tokenizer.")
@click.option("--most", "-n", default=64, type=click.IntRange(1, 1 << 20), metavar="N", show_default=True,
              help="Tokens to make at most.")  # fmt: skip
@click.option("--temperature", default=0.0, type=Finite(0), metavar="X", show_default=True,
              help="0 takes the likeliest token; more draws by chance.")  # fmt: skip
@click.option("--top-k", default=0, type=click.IntRange(min=0), metavar="K", help="Draw among the K likeliest.")
@click.option("--top-p", default=1.0, type=Finite(0.0001, 1), metavar="P", help="Draw among the likeliest that make P.")
@click.option("--seed", default=0, type=click.IntRange(0, 2**63 - 1), metavar="S", show_default=True)
@click.option("--flow", default=FLOWS[0], type=click.Choice((*FLOWS, BOTH)), show_default=True,
              help="How the model is compiled; both shows one beside the other.")  # fmt: skip
@level_option
@click.option("--device", default="cpu", metavar="cpu|cuda:N", show_default=True, shell_complete=completing.devices,
              help="Where it runs; on a card, weights and cache stay there.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option("--no-cache", is_flag=True, help="Compile everything anew.")
@click.option("--no-db", is_flag=True, help="Keep no record.")
@click.option("--db", type=Database(), metavar="DB", help="Keep the record in this database.")
@json_option
def command(
    model: str, prompt: str | None, tokens: str | None, most: int, temperature: float, top_k: int, top_p: float,
    seed: int, flow: str, opt_level: int, device: str, threads: int | None, no_cache: bool, no_db: bool, db: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Generate text with MODEL: a folder with config.json and safetensors, FILE.gguf, or sample:llama-3.2-1b."""
    if (prompt is None) == (tokens is None):
        raise click.UsageError("generate needs --prompt TEXT or --tokens 1,2,3")
    if no_db and db:
        raise click.UsageError("--no-db keeps no record to put into a database")
    from app.compilation import device_index, device_target
    from app.generate.child import Generate
    from app.generate.keeping import check_database, keep_generation
    from app.generate.sampling import Sampling
    from compiler.options import CompileOptions

    target = device_target(device_index(device))
    asked = Generate(
        model, prompt or "", _numbers(tokens), most, Sampling(temperature, top_k, top_p, seed),
        CompileOptions(target, opt_level=opt_level, cache=not no_cache), threads, record=not no_db, device=device,
    )  # fmt: skip
    if not no_db:
        check_database(db)
    found: dict[str, tuple[Generation, Begun | None]] = {}
    try:  # what was measured is told before it is kept, and kept also where nobody reads it
        for each in FLOWS if flow == BOTH else (flow,):
            turn = replace(asked, options=replace(asked.options, flow=each))
            made = _generated(turn, shown=not as_json and not found)
            found[each] = made, None if no_db else _begun(turn, made, db)
        if as_json:
            print_json({"model": model, "flows": {each: _document(*made) for each, made in found.items()}})
        else:
            say(_table(found))
    finally:
        for made, begun in found.values():
            if begun is not None and (kept := keep_generation(begun, made)).note:
                complain(kept.note, "note")


def _numbers(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise click.UsageError(f"--tokens is numbers with commas between, not {text[:40]!r}")
    return tuple(map(int, parts))


def _generated(asked: Generate, *, shown: bool) -> Generation:
    from app.generate.generation import generate

    plain = sys.stdout.isatty()  # what a model says is no order to it; a pipe and a file get it as it is
    with contextlib.ExitStack() as stack:
        step, parts = stack.enter_context(progress_line()), 0
        step(f"starting {asked.options.flow}", None)

        def tell(text: str) -> None:
            nonlocal parts
            parts += 1
            if shown:  # the text is the progress
                stack.close()
                sys.stdout.write(printable_lines(text) if plain else text)
                sys.stdout.flush()
            else:
                step(f"generating {asked.options.flow}", min(parts / max(asked.most, 1), 1.0))

        made = generate(asked, tell)
    if shown:
        say("\n")
    return made


def _begun(asked: Generate, made: Generation, db: str | None) -> Begun:
    from app.generate.keeping import begin_generation

    begun = begin_generation(db, asked, made)
    if begun.note:
        complain(begun.note, "note")
    return begun


def _document(made: Generation, begun: Begun | None) -> dict[str, Any]:
    return {
        "run": begun and begun.run, "text": made.text, "prompt_tokens": list(made.prompt), "tokens": list(made.tokens),
        "figures": {name.replace(" ", "_").replace("-", "_"): value for name, value in made.figures.items()},
        "step_seconds": [step * 1e-9 for step in made.steps],
    }  # fmt: skip


def _table(found: dict[str, tuple[Generation, Begun | None]]) -> str:
    from app.generate.generation import figure_text

    names = list(next(iter(found.values()))[0].figures)
    rows = [(name, *(figure_text(name, made.figures[name]) for made, _ in found.values())) for name in names]
    rows.append(("run", *(_run_words(begun) for _, begun in found.values())))
    same = len({made.tokens for made, _ in found.values()}) == 1
    note = "" if len(found) == 1 else f"\n\nthe tokens are {'the same' if same else 'NOT the same'}"
    return table(("", *found), rows, right=tuple(range(1, len(found) + 1))) + note


def _run_words(begun: Begun | None) -> str:
    if begun is None:
        return "not kept"
    return str(begun.run) if begun.run is not None else "see the note"
