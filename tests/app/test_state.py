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


def test_nothing_stays_of_a_model_whose_successor_did_not_come():
    state = State()
    told = []
    state.open("a", "")
    state.set_compilation(shown("a"))
    state.compiled.connect(told.append)
    state.open("a", "")  # the same again: what there is, is of it
    assert not state.drop_stale() and state.current is state.compilation
    state.open("b", "")
    assert state.current is None and state.compilation is not None
    assert state.drop_stale()
    assert state.compilation is None and state.previous is None and state.run is None
    assert [(c.source, c.kernels) for c in told] == [("b", ())]
    assert not state.drop_stale()  # nothing came of it again: it is on show already
    state.open("c", "")
    assert state.drop_stale() and told[-1].source == "c", "the name of b does not stay for c"
    state.open("b", "")
    state.set_compilation(shown("b"))
    assert state.current is state.compilation and state.previous is None


def test_another_source_is_compiled_without_the_what_if_edits_of_the_one_before():
    state = State()
    state.choose(target="sm_90a", opt_level=1, force_cut=(("a", "b"),), sources=(("k", "text"),))
    state.open("b", "")
    assert (state.choices.target, state.choices.opt_level) == ("sm_90a", 1)
    assert not state.choices.force_cut and not state.choices.sources
