"""Which lines of a text are the exact counterparts of a line that was chosen elsewhere."""

from __future__ import annotations

import numpy as np

from app.viewmodels.compilation import LIBRARY, MODEL_SOURCE, WHOLE_STAGES
from app.viewmodels.frame.selection import Spot
from app.viewmodels.text.text_document import TextDocument

_WRITTEN = (*WHOLE_STAGES, "source")
"""Stages whose lines stand for all that was made of them."""


def spot_of(document: TextDocument, stage: str, line: int) -> Spot:
    """What choosing a line means."""
    file, at = ("", 0) if stage == MODEL_SOURCE else document.place(line)
    library = ("", 0) if stage in _WRITTEN else document.library_place(line)
    return Spot(file, at, frozenset(document.nodes(line)), stage in (*_WRITTEN, LIBRARY), library)


def exact_lines(document: TextDocument, stage: str, spot: Spot) -> np.ndarray:
    """A bool for each line. Lines of IR and machine code match by their line of source and their nodes; those of the
    graph, its source and the generated kernels, of which whole stretches are made, by their nodes."""
    if stage == LIBRARY:
        return document.lines_at(*(spot.library if spot.library[1] else (spot.file, spot.line)))
    chosen_there = spot.whole and bool(spot.library[1])
    at = document.lines_for(*spot.library) if chosen_there else document.lines_at(spot.file, spot.line)
    if stage in _WRITTEN:
        return at if at.any() else _closest(document, spot.nodes)
    of_nodes = document.lines_of(spot.nodes)
    if spot.whole:
        return at if chosen_there else at | of_nodes
    if not spot.line:
        return of_nodes
    if spot.nodes and (both := at & document.lit_lines(spot.nodes)).any():
        return both
    return at


def _closest(document: TextDocument, nodes: frozenset[str]) -> np.ndarray:
    """The lines of these nodes; where none is of just these, those that share nodes with them and least else."""
    exact = document.lines_of(nodes)
    if exact.any() or not nodes:
        return exact
    sharing = [len(entry) for entry in document.sets if not nodes.isdisjoint(entry)]
    if not sharing:
        return exact
    fewest = min(sharing)
    return document.of_sets([len(entry) == fewest and not nodes.isdisjoint(entry) for entry in document.sets])
