"""One journey in one window, in a process of its own: `drive.py NAME FOLDER PICTURE [THEME]`, with DISPLAY set;
PICTURE is the file in which its server keeps what is on the screen.

Prints one JSON line: what went wrong, if anything, and how long the window did not answer at the most.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]


def main(name: str, folder: Path, picture: Path, theme: str, watch: bool) -> int:
    """Drive it."""
    own = tempfile.mkdtemp(prefix="kernelglass-journey-")
    os.environ |= {
        "KERNELGLASS_CONFIG": own, "KERNELGLASS_DB": f"{own}/runs.db", "QT_QPA_PLATFORM": "xcb",
        "KERNELGLASS_CACHE": os.environ.get("KERNELGLASS_CACHE", f"{own}/cache"),
        "KERNELGLASS_HEARTBEAT": f"{own}/heartbeat.jsonl", "XDG_DATA_HOME": f"{own}/data",
    }  # fmt: skip
    from PySide6.QtWidgets import QApplication
    from robot import Robot
    from steps import JOURNEYS

    from app.controllers.settings import Settings
    from app.main_window import MainWindow

    application = QApplication(["kernelglass"])
    settings = Settings(Path(own))
    settings.set("theme", theme)
    window = MainWindow(settings)
    window.source.ask_edits = lambda titles: "discard"  # for closing; journeys answer what they are asked
    window.show()
    robot = Robot(window, folder, name, picture, watch)
    told: dict[str, object] = {"journey": name, "theme": theme, "error": ""}

    def go() -> None:
        try:
            robot.until(lambda: window.isActiveWindow(), "the window to be there", 30)
            robot.ask(window.heartbeat.begin)
            JOURNEYS[name](robot)
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}"
        heart = window.heartbeat
        told.update(
            longest_ms=round(heart.longest.seconds * 1e3, 1), longest_at=round(heart.longest.at, 2),
            busiest_ms=round(heart.busiest.worked * 1e3, 1), busiest_at=round(heart.busiest.at, 2),
            over=len(heart.stalls), clicks=robot.clicks,
            shots=robot.shots, stalls=[[round(s.at, 2), round(s.seconds * 1e3), round(s.worked * 1e3)]
                                       for s in heart.stalls if s.worked > 0.03],
        )  # fmt: skip
        if watch:
            (folder / f"{name}-stalls.txt").write_text("\n".join(robot.frames))
        robot.ask(window.close)
        robot._asked.emit(application.quit)

    threading.Thread(target=go, daemon=True).start()
    application.exec()
    print(json.dumps(told), flush=True)
    os._exit(bool(told["error"]))  # the journey's thread may still stand in xdotool


if __name__ == "__main__":
    said = [word for word in sys.argv[1:] if word != "--watch"]
    sys.exit(main(said[0], Path(said[1]), Path(said[2]), (said[3:] or ["dark"])[0], "--watch" in sys.argv))
