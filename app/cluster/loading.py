"""Dask loaded for who only sends work to a cluster: without what Dask can do without and loads where it is there.

That is a third of the time it takes to load, in which nothing is sent yet. What is left out here can be loaded by
anybody later.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from types import ModuleType
from typing import Any

from compiler.collector_pauses import rare_collection

_LEFT_OUT = "numpy", "jinja2"
"""For buffers that are not cleared first, and for what notebooks show; Dask asks whether they are there."""


def load_dask(settings: Mapping[str, object], sending: bool) -> tuple[ModuleType, ModuleType]:
    """Dask's configuration, with these settings, and its distributed part; ImportError where there is none."""
    with rare_collection(), _alone() if sending and threading.active_count() == 1 else nullcontext():
        import dask.config

        dask.config.set(settings)
        import distributed
    return dask.config, distributed


@contextmanager
def _alone() -> Iterator[None]:
    """While nothing else runs here: modules that are left out are not there, and YAML is read by its library in C."""
    import yaml

    left_out: dict[str, Any] = {name: None for name in _LEFT_OUT if name not in sys.modules}
    sys.modules.update(left_out)
    reads, loader = yaml.safe_load, getattr(yaml, "CSafeLoader", None)
    if loader is not None:
        yaml.safe_load = partial(yaml.load, Loader=loader)
    try:
        yield
    finally:
        yaml.safe_load = reads
        for name in left_out:
            if sys.modules.get(name) is None:
                del sys.modules[name]
