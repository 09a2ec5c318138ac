"""As much of JSON Schema as the project's own schemas use, so that the tests need no other package.

`closed`: an object with `properties` and no `additionalProperties` may hold nothing else. A reader has to be ready for
new fields; a writer has to document them.
"""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_KNOWN = {"$schema", "$id", "title", "type", "required", "properties", "additionalProperties", "items", "enum", "const",
          "minimum", "minItems", "maxItems"}  # fmt: skip


def problems(value: Any, schema: Any, at: str = "$", closed: bool = True) -> list[str]:
    """What is wrong with a value, each with its place; empty where it fits."""
    if schema is True:
        return []
    assert set(schema) <= _KNOWN, f"{at}: the test does not know {set(schema) - _KNOWN}"
    if "const" in schema and value != schema["const"]:
        return [f"{at}: {value!r} is not {schema['const']!r}"]
    if "type" in schema and not any(_is(value, kind) for kind in _listed(schema["type"])):
        return [f"{at}: {value!r:.60} is no {schema['type']}"]
    if value is None:
        return []
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{at}: {value!r} is less than {schema['minimum']}")
    if isinstance(value, dict):
        found += _object(value, schema, at, closed)
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        for number, item in enumerate(value):
            found += problems(item, schema.get("items", True), f"{at}[{number}]", closed)
    return found


def _object(value: dict[str, Any], schema: dict[str, Any], at: str, closed: bool) -> list[str]:
    found = [f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value]
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", not closed)
    for name, item in value.items():
        if name in known:
            found += problems(item, known[name], f"{at}.{name}", closed)
        elif others is False:
            found.append(f"{at}: {name} is not documented")
        else:
            found += problems(item, others, f"{at}.{name}", closed)
    return found


def _listed(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
