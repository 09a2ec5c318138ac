"""The view of a language model at work: a prompt and how to choose tokens, the text as it comes, the serving table."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSplitter, QWidget

from app.generate.child import Generate
from app.generate.sampling import Sampling
from app.theme.look import Look
from app.viewmodels.runs.serving import EMPTY, READY, GenerateRequest, Served, read_tokens, same_tokens, serving_rows
from app.views.parts.controls import column, fraction_box, line_field, push_button, spin_box
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, MessageBar, label, restyle
from compiler.options import FLOWS, CompileOptions
from compiler.printable import printable_lines

BOTH = "both"


class GeneratingView(QWidget):
    """Who hears `generate_wanted` asks for the `request`; `stop_wanted` comes from the same button while it goes on."""

    generate_wanted = Signal()
    stop_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.bar = MessageBar(look, "generate")
        self.kind = Choice("How the prompt is given", [("text", "Prompt"), ("tokens", "Tokens")], flat=True)
        self.prompt = line_field("Prompt", "What the text begins with")
        self.prompt.returnPressed.connect(self._pressed)
        self.kind.chosen.connect(self._hint)
        self.most = spin_box("Tokens to make at most", 1, 1 << 20, " tokens", tip="Tokens to make at most", usual=4)
        self.most.setValue(64)
        self.temperature = fraction_box(
            "Temperature", 0.0, 100.0, 0.0, "0 takes the likeliest token; more draws by chance"
        )
        self.top_k = spin_box(
            "Top-k", 0, 1 << 20, zero="all", tip="Draw among so many of the likeliest tokens", usual=4
        )
        self.top_p = fraction_box("Top-p", 0.01, 1.0, 1.0, "Draw among the likeliest tokens that make so much together")
        self.seed = spin_box("Seed", 0, 2**31 - 1, tip="The same seed draws the same tokens", usual=6)
        flows = [*((flow, flow) for flow in FLOWS), (BOTH, "both, side by side")]
        self.flow = Choice("How the model is compiled", flows, flat=True)
        self.start = push_button("Generate", self._pressed, "Generate text (Enter in the prompt)", role="primary")
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setPlaceholderText(EMPTY)
        self.text.setAccessibleName("Generated text")
        self.table = RecordView(
            "Serving table",
            [
                Column("Figure", lambda row: row.name),
                *(
                    Column(flow, lambda row, flow=flow: row.values.get(flow, ""), right=True, width=112)
                    for flow in FLOWS
                ),
            ],
            empty="Start-up, time to first token, tokens a second: for each flow.",
        )
        top = Header(self.kind, self.prompt, self.flow, self.start, wide=self.prompt).spaced()
        options = Header(
            self.most, label("temperature", "muted"), self.temperature, label("top-k", "muted"), self.top_k,
            label("top-p", "muted"), self.top_p, label("seed", "muted"), self.seed, None,
        ).spaced()  # fmt: skip
        self.agreement = label()
        self.agreement.setContentsMargins(10, 5, 10, 3)
        self.agreement.hide()
        figures = QWidget()
        column(figures, self.agreement, self.table, main=self.table)
        halves = QSplitter(Qt.Orientation.Horizontal)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.text)
        halves.addWidget(figures)
        halves.setSizes([400, 480])
        column(self, self.bar, top, options, halves, main=halves)
        self.going_on = False

    def request(self, model: str, opt_level: int, threads: int | None) -> GenerateRequest:
        """What is asked; a ValueError that says what is missing or wrong."""
        given = self.prompt.text()
        if not given.strip():
            raise ValueError("type a prompt first" if self.kind.value == "text" else "type the prompt's tokens first")
        tokens = read_tokens(given) if self.kind.value == "tokens" else ()
        sampling = Sampling(self.temperature.value(), self.top_k.value(), self.top_p.value(), self.seed.value())
        asked = Generate(
            model, "" if tokens else given, tokens, self.most.value(), sampling, CompileOptions(opt_level=opt_level),
            threads, record=True,
        )  # fmt: skip
        return GenerateRequest(asked, FLOWS if self.flow.value == BOTH else (self.flow.value,))

    def begin(self) -> None:
        """It starts: what was made before goes."""
        self.text.clear()
        self.table.set_records(())
        self.agreement.hide()
        self._go_on(True)

    def add_text(self, text: str) -> None:
        """A piece of text, after what is there; the view follows it."""
        cursor = self.text.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(printable_lines(text))
        self.text.ensureCursorVisible()

    def end(self, served: tuple[Served, ...] = ()) -> None:
        """It is over; nothing is shown of what was stopped but its text."""
        self.table.set_records(serving_rows(served))
        self._say_agreement(same_tokens(served))
        self._go_on(False)

    def _say_agreement(self, same: bool | None) -> None:
        """Whether the flows made the same text, above their figures."""
        self.agreement.setText(f"The tokens are {'the same' if same else 'NOT the same'}")
        restyle(self.agreement, "role", "good" if same else "bad")
        self.agreement.setVisible(same is not None)

    def _go_on(self, going_on: bool) -> None:
        self.going_on = going_on
        self.start.setText("Stop" if going_on else "Generate")

    def _pressed(self) -> None:
        (self.stop_wanted if self.going_on else self.generate_wanted).emit()

    def set_ready(self, ready: bool) -> None:
        """Whether what is open can generate: what to do where there is no text yet."""
        self.text.setPlaceholderText(READY if ready else EMPTY)

    def _hint(self, kind: str) -> None:
        hint = "What the text begins with" if kind == "text" else "Token numbers, as in 1, 17, 42"
        self.prompt.setPlaceholderText(hint)
