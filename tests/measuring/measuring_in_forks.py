"""Whoever loads this measures in forks of itself, unless another thread of it could hold a lock then."""

import threading

from forked_measuring import ForkToMeasure, prepare

from compiler.processes.supervisor import Child
from profiler.measure.cpu import measuring


def _child(*asked, **how):
    others = [each for each in threading.enumerate() if not isinstance(each, threading._DummyThread)][1:]
    return (Child if others else ForkToMeasure)(*asked, **how)


prepare()
measuring.Child = _child
