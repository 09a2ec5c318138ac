"""Two sides of a comparison in two panes: the same stage of each, level with each other and scrolled together."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.viewmodels.compilation import MODEL_STAGES
from app.viewmodels.runs.comparison import ComparisonView, KernelVerdict
from app.viewmodels.text.ir_pane import Against, TextKey
from app.views.frame.workbench import Workbench
from app.views.text.ir_pane import IrPane


class PairController(QObject):
    """Shows the first and the last side of a comparison; the panes are a pair until either shows something else."""

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._pair: tuple[IrPane, IrPane] | None = None
        self._linked: set[tuple[IrPane, IrPane]] = set()
        self._moving = False

    def show(self, comparison: ComparisonView, row: KernelVerdict, stage: str) -> bool:
        """Open both sides at a stage; False where a side has no text of it."""
        first, last = comparison.sides[0], comparison.sides[-1]
        whole = stage in MODEL_STAGES
        names = ("", "") if whole else (row.names[0], row.names[-1])
        if not (first.compilation and last.compilation) or not (whole or all(names)):
            return False
        keys = [
            TextKey(stage, name, origin=f"c{side.compilation}").clean()
            for side, name in ((first, names[0]), (last, names[1]))
        ]
        before, after = self._workbench.free_panes(2)
        self._link(before, after)
        before.model.show_key(keys[0], first.label, Against(keys[1], "", "before"))
        after.model.show_key(keys[1], last.label, Against(keys[0], "", "after"))
        return True

    def end(self) -> None:
        """Both panes back to the compilation on show."""
        for pane in self._pair or ():
            if pane in self._workbench.panes and pane.model.origin:
                pane.model.show()
        self._pair = None

    def _link(self, before: IrPane, after: IrPane) -> None:
        self._pair = (before, after)
        if self._pair in self._linked:
            return
        self._linked.add(self._pair)
        for one, other in ((before, after), (after, before)):
            for name in ("verticalScrollBar", "horizontalScrollBar"):
                bar = getattr(one.text, name)()
                bar.valueChanged.connect(lambda value, o=one, t=other, n=name: self._scrolled(o, t, n, value))

    def _scrolled(self, one: IrPane, other: IrPane, name: str, value: int) -> None:
        panes = self._workbench.panes
        if self._moving or self._pair is None or not {one, other} <= set(self._pair) or other not in panes:
            return
        if one.model.origin and other.model.origin and one.model.diff and other.model.diff:
            self._moving = True
            getattr(other.text, name)().setValue(value)
            self._moving = False
