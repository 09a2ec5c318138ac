"""Imports are timed apart from the work that causes them."""

import sys
from time import perf_counter

from compiler.import_time import without_imports


def test_what_a_stretch_of_work_imports_is_no_part_of_its_seconds(tmp_path, monkeypatch):
    inner = "from time import perf_counter\nend = perf_counter() + 0.02\nwhile perf_counter() < end: pass\n"
    (tmp_path / "kg_slow_inner.py").write_text(inner)
    (tmp_path / "kg_slow_outer.py").write_text("import kg_slow_inner\n" + inner)
    monkeypatch.syspath_prepend(tmp_path)
    start = perf_counter()
    with without_imports() as took:
        import kg_slow_outer

        end = perf_counter() + 0.01
        while perf_counter() < end:
            pass
    whole = perf_counter() - start
    assert took.imports >= 0.04 and took.seconds >= 0.01 and took.seconds + took.imports <= whole
    with without_imports() as again:
        import kg_slow_inner
    assert again.imports < 0.01
    assert kg_slow_outer and kg_slow_inner
    for name in ("kg_slow_outer", "kg_slow_inner"):
        del sys.modules[name]
