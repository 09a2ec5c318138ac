"""The trace store: one SQLite file that keeps every compilation and every run. The only SQL for traces lives here.

`store.open_store(path)` opens, upgrades and guards the file; `writer` adds to it, `queries` asks it, `texts` keeps IR
compressed and searchable, `migrations` is the history of its shape. Everything else speaks in records.
"""

from profiler.store.connection import Store, StoreBlocked, StoreError
from profiler.store.opening import ask, default_path, is_visited, open_in_memory, open_store

__all__ = ["Store", "StoreBlocked", "StoreError", "ask", "default_path", "is_visited", "open_in_memory", "open_store"]
