"""Windows that have just been opened: what an earlier one left for them, and what is there from the first turn on."""

from __future__ import annotations

import pytest

from app.controllers.settings import Settings
from app.main_window import MainWindow

pytestmark = pytest.mark.gui


def test_theme_zoom_and_layout_survive_a_restart(qtbot, tmp_path):
    settings = Settings(tmp_path / "kept")
    first = MainWindow(settings)
    first.show()
    first.features.do("theme_light")
    first.look.zoom_code(17)
    first.settings.save_layout("mine", first.docks.layout_states())
    first.close()
    second = MainWindow(Settings(tmp_path / "kept"))
    second.show()
    assert second.look.theme.name == "light"
    assert second.look.code_pixels == 17
    assert second.settings.layout_names() == ["mine"]
    second.close()
    for window in (first, second):
        window.deleteLater()


def test_a_source_that_is_opened_before_the_first_turn_has_all_its_docks(qtbot, tmp_path):
    window = MainWindow(Settings(tmp_path / "early"))
    window.show()
    window.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: window.docks.bottom["log"].isVisibleTo(window), timeout=60_000)
    assert window.docks.named["explorer"].isVisible()
    assert window.docks.named["inspector"].isVisible()
    qtbot.waitUntil(lambda: window.state.compilation is not None, timeout=60_000)
    window.close()
    window.deleteLater()
