"""The process that generates for another one: starts, compiles, and sends each token as it is made.

Nothing that another generation left in memory helps this one: what start-up takes is part of what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time_ns

from app.generate.sampling import Sampling
from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.child import end_with_parent
from compiler.processes.frames import Channel, named
from compiler.processes.messages import Refusal, refusal
from profiler.records import CompilationRecord


@dataclass(frozen=True)
class Generate:
    """What is asked: a model, a prompt as text or as tokens, and how many tokens at most."""

    model: str
    prompt: str
    tokens: tuple[int, ...]
    most: int
    sampling: Sampling = field(default_factory=Sampling)
    options: CompileOptions = field(default_factory=CompileOptions)
    threads: int | None = None
    record: bool = False
    device: str = "cpu"


@dataclass(frozen=True)
class Ready:
    """The model is compiled and the prompt is tokens; when that was, in nanoseconds since 1970."""

    prompt: tuple[int, ...]
    at: int


@dataclass(frozen=True)
class Token:
    """One token, the text that it made certain, and the nanoseconds it took."""

    token: int
    text: str
    nanoseconds: int


@dataclass(frozen=True)
class Done:
    """There are no more; the compilation of the decoding model where it was asked for."""

    compilation: CompilationRecord | None


KNOWN = named(Generate)
ANSWERS = named(Ready, Token, Done, Refusal)


def serve(channel: Channel) -> None:
    """Do what is asked once; errors a user can cause become records."""
    end_with_parent()
    try:
        _work(channel, channel.receive().value)
    except CompilerError as error:
        channel.send(refusal(error))
    except MemoryError:
        channel.send(Refusal("ExecutionError", "out of memory: choose a smaller model or fewer tokens"))


def _work(channel: Channel, asked: Generate) -> None:
    from time import perf_counter

    from app.generate.engine import Engine, check_asked
    from app.generate.tokenizing import Stream, tokenizer_of
    from app.sources import load_checkpoint, stored_name
    from profiler.measure.devices import cuda_device

    checkpoint = load_checkpoint(asked.model)
    tokenizer = None
    if not asked.tokens:
        tokenizer = tokenizer_of(checkpoint.folder, checkpoint.metadata, checkpoint.config.begin)
    prompt = asked.tokens or tuple(tokenizer.encode(asked.prompt) if tokenizer else ())
    check_asked(checkpoint.config, prompt, asked.most, asked.sampling)
    start = perf_counter()
    device = None if asked.device == "cpu" else cuda_device(asked.device).index
    engine = Engine(checkpoint, asked.options, asked.threads, device)
    seconds = perf_counter() - start
    channel.send(Ready(tuple(prompt), time_ns()))
    stream = Stream(tokenizer)
    for token, took in engine.generate(prompt, asked.most, asked.sampling):
        ended = token in checkpoint.config.ends
        channel.send(Token(token, "" if ended else stream.add(token), took))
    record = None
    if asked.record:
        from profiler.model_records import compilation_record

        record = compilation_record(engine.decode, stored_name(asked.model), seconds)
    channel.send(Done(record))
