"""No two modules import each other, directly or in a circle, whatever their rooms.

`make lint` guards the order of the rooms; this looks at single modules. Imports for types alone and imports inside
functions count like any other: they hide a circle, they do not break it.
"""

from __future__ import annotations

from functools import cache

import grimp
import igraph

PACKAGES = ("app", "compiler", "profiler", "kernels", "resources")


@cache
def our_imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def circles(imports: grimp.ImportGraph) -> list[list[str]]:
    """Sets of modules each of which reaches all others of its set through imports."""
    edges = [
        (module, found) for module in imports.modules for found in imports.find_modules_directly_imported_by(module)
    ]
    names = sorted(imports.modules)
    graph = igraph.Graph.DictList([{"name": n} for n in names], [{"source": a, "target": b} for a, b in edges], True)
    return [[names[i] for i in part] for part in graph.connected_components("strong") if len(part) > 1]


def test_a_circle_is_found() -> None:
    imports = grimp.ImportGraph()
    for importer, imported in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "d")]:
        imports.add_import(importer=importer, imported=imported)
    assert circles(imports) == [["a", "b", "c"]]


def test_imports_for_types_and_inside_functions_are_seen() -> None:
    imports = our_imports()
    assert imports.direct_import_exists(importer="compiler.pipeline", imported="compiler.passes.fusion.run")
    assert imports.direct_import_exists(importer="compiler.pipeline", imported="compiler.program.execution")


def test_no_module_is_in_a_circle() -> None:
    assert circles(our_imports()) == []
