"""What lies where in a laid out graph, what is said about it, and from where it is first looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.camera import MARGIN, Camera
from app.views.graph.frames import FramePainter

_LARGEST, _TALL = 1.25, 800.0  # the scale of a small graph; in views higher than so many pixels it grows with them
_LEGEND = 50.0  # pixels at the bottom of the view
_WHOLE, _READABLE = 0.66, 0.8  # scales at which all of a graph is worth seeing, and at which a part of it is read
SMALL = 40  # boxes up to which a graph is small: it opens whole, and no map lies over it
_SMALL_WHOLE = 0.4  # down to this scale
_MANY = 2000  # boxes from which on a part of a graph is no better a beginning than all of it
_SEEN = 0.02  # unless boxes would be less than a pixel high then
_BUTTONS = 0.3  # the scale from which frames have buttons
_EDGE = 6.0  # pixels beside an edge that still count as on it
_T = np.linspace(0.0, 1.0, 13)
_CURVE = np.column_stack((3 * _T**2 - 2 * _T**3, 1.5 * _T * (1 - _T) + _T**3))  # how far along, in x and in y


@dataclass(frozen=True)
class Hit:
    """What lies under a point: a box, the innermost frame, and the button of that frame ("chip", "chevron" or none)."""

    box: int
    frame: int
    button: str


def hit(model: GraphModel, frames: FramePainter, camera: Camera, point: QPointF) -> Hit:
    """What lies under a point of the view; no button counts under a box."""
    layout = model.layout
    if layout is None:
        return Hit(-1, -1, "")
    spot = camera.to_scene(point)
    box = -1
    if len(layout.positions):
        at = np.array(spot.toTuple())
        inside = ((layout.positions <= at) & (at <= layout.positions + model.scene.sizes)).all(axis=1)
        box = int(np.argmax(inside)) if inside.any() else -1
    frame = frames.frame_at(spot)
    button = frames.button_at(spot, frame) if box < 0 and camera.scale >= _BUTTONS else ""
    return Hit(box, frame, button)


def tip_of(model: GraphModel, under: Hit, scale: float) -> str:
    """What is said about the thing under the mouse."""
    if under.button == "chip":
        key = model.scene.frames[under.frame].key
        return "Fold all copies into one (U)" if key.first == key.last else "Show each copy by itself (U)"
    if under.button == "chevron":
        return "Collapse to one box (Enter)"
    if under.box < 0:
        inside = under.frame
        return f"{model.scene.frames[inside].title}\n{model.frame_cost(inside)}".strip() if inside >= 0 else ""
    hidden = scale <= 0.6 or model.heat != "none" or len(model.scene.box_nodes[under.box]) > 1
    return model.describe(under.box).replace(", ", "\n", 1) if hidden else ""


def edge_at(model: GraphModel, spot: QPointF, scale: float) -> int:
    """The edge within a few pixels of a point of the scene, or -1."""
    layout = model.layout
    if layout is None or not model.scene.edges:
        return -1
    at = np.array(spot.toTuple())
    reach = _EDGE / scale
    last = np.zeros(len(layout.points), bool)
    last[layout.edge_starts[1:] - 1] = True
    starts = np.flatnonzero(~last)
    a, b = layout.points[starts], layout.points[starts + 1]
    near = ((np.minimum(a, b) - reach <= at) & (at <= np.maximum(a, b) + reach)).all(axis=1)
    if not near.any():
        return -1
    starts, a, b = starts[near], a[near], b[near]
    # The curves as they are drawn, as short straight pieces.
    curve = a[:, None] + (b - a)[:, None] * _CURVE
    first, along = curve[:, :-1], np.diff(curve, axis=1)
    share = np.clip(((at - first) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-9), 0, 1)
    distance = np.sqrt(((first + along * share[..., None] - at) ** 2).sum(axis=2)).min(axis=1)
    nearest = int(np.argmin(distance))
    if distance[nearest] > reach:
        return -1
    return int(np.searchsorted(layout.edge_starts, starts[nearest], "right")) - 1


def middle_of(model: GraphModel, node: str) -> QPointF:
    """The middle of a node's box in the scene."""
    box = model.scene.box_of[node]
    assert model.layout is not None
    return QPointF(*(model.layout.positions[box] + model.scene.sizes[box] / 2))


def rect_of(model: GraphModel, boxes: np.ndarray) -> QRectF | None:
    """What these boxes take up of the scene; None where there are none."""
    layout = model.layout
    if layout is None or len(boxes) != len(layout.positions) or not boxes.any():
        return None
    low = layout.positions[boxes].min(axis=0)
    high = (layout.positions[boxes] + model.scene.sizes[boxes]).max(axis=0)
    return QRectF(QPointF(*low), QPointF(*high))


def whole(camera: Camera, model: GraphModel) -> Camera:
    """Everything in sight, above the legend of the heat where there is one."""
    layout = model.layout
    if layout is None:
        return camera
    largest = max(_LARGEST, camera.height / _TALL)
    below = _LEGEND if model.heat != "none" and camera.height > 3 * _LEGEND else 0.0
    above = camera.resized(camera.width, camera.height - below)
    return above.fitted(QRectF(0, 0, layout.width, layout.height), largest).resized(camera.width, camera.height)


def opening(camera: Camera, model: GraphModel) -> Camera:
    """Everything if it can be read that way, else the top of the graph, as wide as the view at a readable size."""
    layout = model.layout
    camera = whole(camera, model)
    boxes = len(model.scene.labels)
    if layout is None or camera.scale >= (_SMALL_WHOLE if boxes <= SMALL else _WHOLE):
        return camera
    if boxes >= _MANY and camera.scale >= _SEEN:
        return camera
    scale = max(_READABLE, min(1.0, (camera.width - 2 * MARGIN) / max(layout.width, 1)))
    middle = layout.width / 2
    if layout.width * scale > camera.width:
        high = layout.positions[:, 1] < camera.height / scale
        if high.any():  # a view that is hardly there has nothing at its top
            middle = float(np.median(layout.positions[high, 0] + model.scene.sizes[high, 0] / 2))
    return replace(camera, scale=scale, x=camera.width / 2 - middle * scale, y=MARGIN)


def any_box_in(model: GraphModel, rect: QRectF) -> bool:
    """Whether a part of some box lies in this part of the scene."""
    layout = model.layout
    if layout is None:
        return False
    low, high = layout.positions, layout.positions + model.scene.sizes
    beside = (high <= rect.topLeft().toTuple()) | (low >= rect.bottomRight().toTuple())
    return not bool(beside.any(axis=1).all())


def revealing(camera: Camera, model: GraphModel, boxes: np.ndarray) -> Camera:
    """Moved, without zooming, until some of these boxes are in sight."""
    layout = model.layout
    if layout is None or len(boxes) != len(layout.positions) or not boxes.any():
        return camera
    centre = layout.positions[boxes] + model.scene.sizes[boxes] / 2
    return camera if _inside(camera, centre).any() else camera.centred(QPointF(*centre[0]))


def holding(camera: Camera, before: Camera, model: GraphModel, boxes: np.ndarray) -> Camera:
    """The view has another size: moved as little as it takes to keep one of these boxes in sight, if any was."""
    layout = model.layout
    if layout is None or len(boxes) != len(layout.positions) or not boxes.any():
        return camera
    centre = layout.positions[boxes] + model.scene.sizes[boxes] / 2
    seen = _inside(before, centre)
    if not seen.any() or _inside(camera, centre).any() or min(camera.width, camera.height) < 4 * MARGIN:
        return camera
    spot = camera.transform().map(QPointF(*centre[seen][0]))
    x, y = (min(max(at, 2 * MARGIN), room - 2 * MARGIN) - at
            for at, room in ((spot.x(), camera.width), (spot.y(), camera.height)))  # fmt: skip
    return camera.moved(QPointF(x, y))


def _inside(camera: Camera, points: np.ndarray) -> np.ndarray:
    """Which of these points of the scene are in sight."""
    seen = camera.seen()
    x, y = points.T
    return (x > seen.left()) & (x < seen.right()) & (y > seen.top()) & (y < seen.bottom())
