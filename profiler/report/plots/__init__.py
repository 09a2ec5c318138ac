"""Plots of a report as inline SVG: `axes` has the parts, the other modules a plot or two each."""

from profiler.report.plots.comparing import ratio_plot, whole_plot
from profiler.report.plots.history import history_plot
from profiler.report.plots.memory import memory_plot
from profiler.report.plots.roof import roofline_plot
from profiler.report.plots.spans import passes_plot, timeline_plot
from profiler.report.plots.times import histogram, kernel_plot, samples_plot

__all__ = [
    "histogram", "history_plot", "kernel_plot", "memory_plot", "passes_plot", "ratio_plot", "roofline_plot",
    "samples_plot", "timeline_plot", "whole_plot",
]  # fmt: skip
