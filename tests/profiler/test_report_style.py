"""The report's colours can be read: text on its ground, in light, in dark and on paper, by the measure of WCAG."""

import re
from pathlib import Path

import pytest

STYLE = (Path(__file__).parents[2] / "resources" / "report" / "report.css").read_text()
TEXT = ("text", "muted", "accent", "good", "bad", "warning")
CODE = ("comment", "keyword", "number", "string", "value", "symbol")


def colours(block):
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", block))
    return {
        name: value if len(value) == 7 else "#" + "".join(c * 2 for c in value[1:]) for name, value in found.items()
    }


def themes():
    light, dark, paper = re.findall(r":root \{(.*?)\}", STYLE, re.S)
    first = colours(light)
    return {"light": first, "dark": first | colours(dark), "paper": first | colours(paper)}


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark", "paper"])
def test_text_stands_out_from_its_ground(theme):
    found = themes()[theme]
    for name in TEXT:
        assert contrast(found[name], found["card"]) >= 4.5, name
    for name in CODE:
        assert contrast(found[name], found["card"]) >= 4.5, name
    for ground in ("page", "raised", "warning-ground", "mark", "soft-mark"):
        assert contrast(found["text"], found[ground]) >= 7, ground
    assert contrast(found["text"], found["bar"]) >= 7


@pytest.mark.parametrize("theme", ["light", "dark", "paper"])
def test_words_inside_a_coloured_box_can_be_read(theme):
    found = themes()[theme]
    for number in range(10):
        assert contrast(found["inside"], found[f"s{number}"]) >= 4.5, number
    assert contrast(found["inside"], found["accent"]) >= 4.5


def test_letters_of_plots_can_be_read_on_a_narrow_screen():
    """A plot scales with its page; below a width it scrolls instead, with its smallest letters at 9 px or more."""
    from profiler.report.plots.axes import WIDTH

    css = (Path(__file__).parents[2] / "resources" / "report" / "report.css").read_text(encoding="utf-8")
    narrow = re.search(r"@media \(max-width: (\d+)px\) \{ \.card.*?\.plot, \.pair \.plot \{ width: (\d+)px", css)
    assert narrow is not None
    smallest = min(float(size) for size in re.findall(r"^\.plot [^{]*\{ font-size: ([\d.]+)px", css, re.MULTILINE))
    assert smallest * int(narrow[2]) / WIDTH >= 9
    margins = 220 + 2 * (24 + 19)  # the navigation, the page's edges and a card's
    assert smallest * (int(narrow[1]) - margins) / WIDTH >= 9  # just before it begins to scroll
