"""`kernelglass generate MODEL --prompt TEXT`: text from a language model, and how long each part of it took."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from app.cli.options import Database, Finite, json_option, level_option
from app.cli.output import print_json
from app.cli.progress import progress_line
from app.text_tables import table
from compiler.options import FLOWS

if TYPE_CHECKING:
    from app.generate.child import Generate
    from app.generate.generation import Generation

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
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option("--no-cache", is_flag=True, help="Compile everything anew.")
@click.option("--no-db", is_flag=True, help="Keep no record.")
@click.option("--db", type=Database(), metavar="DB", help="Keep the record in this database.")
@json_option
def command(
    model: str, prompt: str | None, tokens: str | None, most: int, temperature: float, top_k: int, top_p: float,
    seed: int, flow: str, opt_level: int, threads: int | None, no_cache: bool, no_db: bool, db: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Generate text with MODEL: a folder with config.json and safetensors, FILE.gguf, or sample:llama-3.2-1b."""
    if (prompt is None) == (tokens is None):
        raise click.UsageError("generate needs --prompt TEXT or --tokens 1,2,3")
    if no_db and db:
        raise click.UsageError("--no-db keeps no record to put into a database")
    from app.generate.child import Generate
    from app.generate.sampling import Sampling
    from compiler.options import CompileOptions

    asked = Generate(
        model, prompt or "", _numbers(tokens), most, Sampling(temperature, top_k, top_p, seed),
        CompileOptions(opt_level=opt_level, cache=not no_cache), threads, record=not no_db,
    )  # fmt: skip
    found: dict[str, Any] = {}
    for each in FLOWS if flow == BOTH else (flow,):
        shown = not as_json and not found
        found[each] = _generated(
            replace(asked, options=replace(asked.options, flow=each)), shown, None if no_db else db, no_db
        )
    if as_json:
        print_json({"model": model, "flows": {each: _document(*made) for each, made in found.items()}})
    else:
        click.echo(_table(found))


def _numbers(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise click.UsageError(f"--tokens is numbers with commas between, not {text[:40]!r}")
    return tuple(map(int, parts))


def _generated(asked: Generate, shown: bool, db: str | None, no_db: bool) -> tuple[Generation, int | None]:
    from app.generate.generation import generate

    with contextlib.ExitStack() as stack:
        step, parts = stack.enter_context(progress_line()), 0
        step(f"starting {asked.options.flow}", None)

        def tell(text: str) -> None:
            nonlocal parts
            parts += 1
            if shown:  # the text is the progress
                stack.close()
                sys.stdout.write(text)
                sys.stdout.flush()
            else:
                step(f"generating {asked.options.flow}", min(parts / max(asked.most, 1), 1.0))

        made = generate(asked, tell)
    if shown:
        click.echo("\n")
    return made, None if no_db else _kept(asked, made, db)


def _kept(asked: Generate, made: Generation, db: str | None) -> int | None:
    """The number of the run that the generation is kept as; the user's own database is not worth failing for."""
    from app.generate.keeping import keep_generation
    from profiler.store import StoreError, open_store

    try:
        with open_store(db) as store:
            return keep_generation(store, asked, made)
    except StoreError as error:
        if db is not None:
            raise
        click.echo(f"kernelglass: note: the run is not kept: {error}", err=True)
        return None


def _document(made: Generation, run: int | None) -> dict[str, Any]:
    return {
        "run": run, "text": made.text, "prompt_tokens": list(made.prompt), "tokens": list(made.tokens),
        "figures": {name.replace(" ", "_").replace("-", "_"): value for name, value in made.figures.items()},
        "step_seconds": [step * 1e-9 for step in made.steps],
    }  # fmt: skip


def _table(found: dict[str, tuple[Generation, int | None]]) -> str:
    from app.generate.generation import figure_text

    names = list(next(iter(found.values()))[0].figures)
    rows = [(name, *(figure_text(name, made.figures[name]) for made, _ in found.values())) for name in names]
    rows.append(("run", *(str(run) if run is not None else "not kept" for _, run in found.values())))
    same = len({made.tokens for made, _ in found.values()}) == 1
    note = "" if len(found) == 1 else f"\n\nthe tokens are {'the same' if same else 'NOT the same'}"
    return table(("", *found), rows, right=tuple(range(1, len(found) + 1))) + note
