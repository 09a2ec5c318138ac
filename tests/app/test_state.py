"""What is open, and how the compilations on show are told apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from app.viewmodels.state import State


def shown(source: str) -> Any:
    return cast(Any, SimpleNamespace(source=source, node_table={}))


def test_a_number_is_never_given_to_two_compilations():
    # Texts are kept by it. An object's address would not do: a later compilation may get that of one that is gone.
    state = State()
    seen = set()
    for source in ("a", "a", "b", "b", "a"):
        before = state.number
        same = state.compilation is not None and state.compilation.source == source
        state.set_compilation(shown(source))
        assert state.number not in seen
        assert state.previous_number == (before if same else 0)
        assert (state.previous is not None) == same
        seen.add(state.number)
