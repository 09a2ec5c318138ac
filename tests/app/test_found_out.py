"""What a run of the window says of its model is found out where the model was compiled, before anything is measured."""

import pytest

import app.worker.measuring
from app.viewmodels.requests import CompileRequest, RunRequest
from app.worker.compile_session import CompileSession
from compiler.model import Model
from compiler.options import CompileOptions


class Measured(Exception):
    """Instead of a process that measures."""


def unknown():
    raise AssertionError("this would be found out while a run waits")


@pytest.mark.parametrize("cache", [True, False])
def test_it_is_known_before_a_process_measures(cold_cache, monkeypatch, cache):
    asked, found = [], Model.__init__

    def noted(model, *arguments):
        found(model, *arguments)
        asked.append(model)

    def measured(*_):
        raise Measured

    monkeypatch.setattr(Model, "__init__", noted)
    monkeypatch.setattr(app.worker.measuring, "_measured", measured)
    session = CompileSession(CompileRequest("sample:softmax", CompileOptions(cache=cache)), lambda progress: None)
    (model,) = asked
    kept, known = [], model.known
    model.known = lambda about, find: kept.append(about) or known(about, find)
    with pytest.raises(Measured):
        session.run(RunRequest(), lambda progress: None)
    assert len(kept) == (2 if cache else 0), "nothing is found out that nobody keeps"
    for about in kept:
        known(about, unknown)
