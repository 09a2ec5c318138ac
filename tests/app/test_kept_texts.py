"""Texts of a model in the cache: made once, and the next session has them as they were."""

from __future__ import annotations

import pytest
from command_line import SCALE

from app.viewmodels.requests import CompileRequest, StageRequest
from app.worker import extract
from app.worker.compile_session import CompileSession
from compiler.model import Kernel
from compiler.options import COMMON_STAGES, CompileOptions


@pytest.fixture
def texts(cold_cache, tmp_path):
    """What a new session shows of every stage of a kernel."""
    path = tmp_path / "scale.py"
    path.write_text(SCALE)

    def shown(**options):
        session = CompileSession(CompileRequest(str(path), CompileOptions(**options), None), lambda _: None)
        kernel = session.records().kernels[0].name
        return {stage: session.stage(StageRequest(stage, kernel)) for stage in COMMON_STAGES}

    return shown


@pytest.fixture
def made(monkeypatch):
    """The stages of which a text was made."""
    real, found = Kernel.stage, []
    monkeypatch.setattr(Kernel, "stage", lambda kernel, stage: (found.append(stage), real(kernel, stage))[1])
    return found


def test_a_text_is_made_once_and_is_the_same_with_all_that_is_known_of_its_lines(texts, made):
    first = texts(debug="line-tables")
    assert made == list(COMMON_STAGES)
    assert texts(debug="line-tables") == first and len(made) == len(COMMON_STAGES)
    assert all(text.text and any(text.line_sets) for text in first.values())
    assert any(first["asm"].line_places) and any(first["kgen"].line_library)


def test_other_options_have_other_texts(texts, made):
    assert texts()["asm"] != texts(opt_level=0)["asm"]
    assert len(made) == 2 * len(COMMON_STAGES)


def test_without_the_cache_every_session_makes_its_own(texts, made):
    assert texts(cache=False) == texts(cache=False)
    assert len(made) == 2 * len(COMMON_STAGES)


def test_what_is_too_long_or_made_by_tools_of_others_is_not_kept(texts, made, monkeypatch):
    monkeypatch.setattr(extract, "_MOST", 10)
    monkeypatch.setattr(extract, "_MADE_ANEW", ("asm",))
    assert texts() == texts()
    assert len(made) == 2 * len(COMMON_STAGES)
