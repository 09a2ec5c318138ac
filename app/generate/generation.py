"""One generation from outside: starts the child, hears each token, reckons the figures that servers are judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import time_ns

from app.generate.child import ANSWERS, Done, Generate, Ready, Token
from compiler.errors import ExecutionError, ParseError
from compiler.processes.frames import Unreadable
from compiler.processes.messages import Refusal, remade
from compiler.processes.supervisor import Child, status_name
from profiler.records import CompilationRecord
from profiler.units import seconds


@dataclass(frozen=True)
class Generation:
    """What came of it. Times are nanoseconds: `steps` one a token, of which the first took the prompt in."""

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    text: str
    startup: int
    steps: tuple[int, ...]
    total: int
    compilation: CompilationRecord | None = None

    @property
    def figures(self) -> dict[str, float | None]:
        """The serving table, in its order; rates of nothing are None."""
        first, later = self.steps[0], self.steps[1:]
        per_token = sum(later) / len(later) if later else None
        return {
            "input tokens": len(self.prompt),
            "output tokens": len(self.tokens),
            "start-up": self.startup * 1e-9,
            "time to first token": first * 1e-9,
            "prefill rate": len(self.prompt) / (first * 1e-9) if first else None,
            "time per output token": per_token * 1e-9 if per_token is not None else None,
            "decode rate": 1e9 / per_token if per_token else None,
            "total": self.total * 1e-9,
        }


UNITS = {
    "input tokens": "tokens", "output tokens": "tokens", "start-up": "s", "time to first token": "s",
    "prefill rate": "tokens/s", "time per output token": "s", "decode rate": "tokens/s", "total": "s",
}  # fmt: skip


def figure_text(name: str, value: float | None) -> str:
    """A figure of the serving table in words: the same in a terminal and in the window."""
    if value is None:
        return "-"
    if UNITS[name] == "s":
        return seconds(value)
    return f"{value:,.0f}" if "tokens" in name else f"{value:,.1f} {UNITS[name]}"


def encodable(text: str) -> bool:
    """Whether a text can be handed on: bytes of a command line that are no UTF-8 are half characters, which cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def generate(asked: Generate, told: Callable[[str], None] = lambda text: None) -> Generation:
    """Generate in a process of its own; `told` gets text as it becomes certain."""
    if not encodable(asked.prompt):
        raise ParseError("the prompt is not text: it has bytes that are no UTF-8")
    begun = time_ns()
    child = Child("app.generate.child", ANSWERS, keep_errors=True)
    ready: Ready | None = None
    tokens: list[Token] = []
    done: Done | None = None
    total = 0
    try:
        child.channel.send(asked)
        while done is None:
            match child.channel.receive().value:
                case Ready() as found:
                    ready = found
                case Token() as made:
                    tokens.append(made)
                    total = time_ns() - begun
                    told(made.text)
                case Done() as found:
                    done = found
                case Refusal() as found:
                    raise remade(found)
    except (EOFError, Unreadable, ConnectionError):
        status = child.end(2.0)
        words = f": {child.last_words}" if child.last_words else ""
        raise ExecutionError(f"the process that generated ended with {status_name(status)}{words}") from None
    finally:
        if child.alive:
            child.end(2.0 if done is not None else 0.0)
    assert ready is not None and done is not None and tokens
    return Generation(
        ready.prompt, tuple(t.token for t in tokens), "".join(t.text for t in tokens), ready.at - begun,
        tuple(t.nanoseconds for t in tokens), total, done.compilation,
    )  # fmt: skip
