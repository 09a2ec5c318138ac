"""The ten journeys pass, with real mouse and keyboard events on an X server of their own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gui]
HERE = Path(__file__).resolve().parent


def _load(name: str):
    spec = importlib.util.spec_from_file_location(f"journeys_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


main = _load("main")


@pytest.mark.parametrize("name", main.NAMES)
def test_the_journey_ends_well(name: str, tmp_path: Path) -> None:
    if lacking := main.missing():
        pytest.skip(f"journeys need programs that are not here: {', '.join(lacking)}")
    told = main.drive(name, tmp_path, "1280x720")
    assert not told["error"], told
    assert list(tmp_path.glob("*.png"))
