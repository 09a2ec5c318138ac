"""Where the name of each point of a plot goes, so that no name lies on a point or on another name."""

from __future__ import annotations

from collections.abc import Sequence

_BESIDE = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_FARTHER = ((1, -2), (-1, -2), (1, 2), (-1, 2), (2, 0), (-2, 0), (0, -2), (0, 2))
SIDES = (*_BESIDE, *_FARTHER)
"""The places beside a point, the best first, and those for a crowd: x grows to the right, y downwards."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


def place_labels(
    points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], radius: float, room: Box
) -> list[tuple[int, int]]:
    """For each point, in pixels, the first of `SIDES` where its name is free and in the room there is; the first of all
    where there is none."""
    dots = [dot(x, y, radius) for x, y in points]
    taken: list[Box] = []
    found = []
    for index, (x, y) in enumerate(points):
        others = [*dots[:index], *dots[index + 1 :], *taken]
        boxes = {side: beside(x, y, sizes[index], side, radius) for side in SIDES}
        free = (side for side, box in boxes.items() if lies_in(box, room) and not any(meet(box, o) for o in others))
        side = next(free, SIDES[0])
        taken.append(boxes[side])
        found.append(side)
    return found


def dot(x: float, y: float, radius: float) -> Box:
    """What a point covers."""
    return x - radius, y - radius, x + radius, y + radius


def beside(x: float, y: float, size: tuple[float, float], side: tuple[int, int], radius: float) -> Box:
    """What the name of a point covers on one of its sides."""
    wide, high = size
    left = x + side[0] * (radius + wide / 2) - wide / 2
    top = y + side[1] * (radius + high / 2) - high / 2
    return left, top, left + wide, top + high


def lies_in(one: Box, room: Box) -> bool:
    """Whether all of it is there."""
    return room[0] <= one[0] and room[1] <= one[1] and one[2] <= room[2] and one[3] <= room[3]


def meet(one: Box, other: Box) -> bool:
    """Whether one covers a part of the other."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
