"""Whoever loads this measures in forks of itself."""

from forked_measuring import ForkToMeasure

from profiler.measure.cpu import measuring

measuring.Child = ForkToMeasure
