"""Does a text of 100,000 lines scroll with heat as it does without? Frames with and without, in turns.

Prints the processor time of a frame without heat, with a share at every line in sight, and with shares as a run has
them, each against no heat, and no heat against itself: how much of a difference is none. Exits with 1 where heat costs
more than the bound.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path[0] = str(Path(__file__).resolve().parent.parent)  # in place of this folder

LINES, FRAMES, TURNS, STEP = 100_000, 80, 13, 3
BOUND = 0.03
_KINDS = (
    "  add x{0}, x{1}, #1 // a comment", "  ldr q{0}, [x{1}, #16]!", "  fmla v{0}.4s, v{1}.4s, v2.s[1]",
    "  b.ne .LBB0_{0}", "  %{0} = fmul float %{1}, 1.0",
)  # fmt: skip


def main() -> int:
    """Measure and print."""
    import numpy as np
    from PySide6.QtWidgets import QApplication

    from app.theme.look import Look
    from app.viewmodels.text.text_document import index_text, line_text
    from app.views.text.text_view import TextView

    application = QApplication([])
    view = TextView(Look(Path(tempfile.mkdtemp()), "dark"))
    text = "\n".join(_KINDS[n % 5].format(n % 31, n % 17) for n in range(LINES))
    view.set_document(index_text(line_text(text, [()] * LINES)), "asm", np.zeros(1, np.int32))
    view.resize(900, 1000)
    view.show()
    chance = np.random.default_rng(0)
    few = chance.exponential(size=LINES) * (chance.random(LINES) > 0.3)
    few, many = few / few.sum(), chance.uniform(0.0006, 0.2, LINES)
    states = {"no heat": None, "no heat, again": None, "shares of a run": few, "a share at every line": many}

    def frame(row: int) -> float:
        begun = time.thread_time()
        view.verticalScrollBar().setValue(row % (LINES - 200))
        view.viewport().repaint()
        return time.thread_time() - begun

    found: dict[str, list[float]] = {name: [] for name in states}
    for turn in range(TURNS):
        for at, (name, shares) in enumerate(states.items()):
            view.show_heat(*((None, None) if shares is None else (np.sqrt(shares / shares.max()), shares)))
            view.refresh()
            application.processEvents()
            begin = 7000 * turn + 911 * at  # rows that no other turn has laid out
            found[name].append(float(np.median([frame(begin + STEP * step) for step in range(FRAMES)])))
    plain = np.array(found["no heat"][1:])
    worst = 0.0
    for name, times in found.items():
        ratios = np.array(times[1:]) / plain - 1
        low, middle, high = (100 * np.quantile(ratios, q) for q in (0.25, 0.5, 0.75))
        print(f"{name:22} {1e3 * np.median(times[1:]):.2f} ms a frame, {middle:+.1f} % ({low:+.1f} to {high:+.1f})")
        worst = max(worst, middle / 100)
    print(f"bound {BOUND:.0%}: {'ok' if worst <= BOUND else 'BROKEN'}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
