"""Symbolic sizes: integer expressions over named dims, kept in a normal form so that equal sizes compare equal.

An expression is a sum of terms, each an integer times a product of atoms; an atom is a symbol or a floordiv, mod, min
or max of expressions. A size that is a plain number is always a plain `int`, never a `Dim`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from compiler.errors import ParseError


@dataclass(frozen=True)
class Symbol:
    """A named size, bound when a model is executed."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Compound:
    """An operation that a sum of products cannot hold: `op` is floordiv, mod, min or max."""

    op: str
    left: int | Dim
    right: int | Dim

    def __str__(self) -> str:
        if self.op in ("min", "max"):
            return f"{self.op}({self.left}, {self.right})"
        sign = "//" if self.op == "floordiv" else "%"
        return f"({_grouped(self.left)} {sign} {_grouped(self.right)})"


Atom = Symbol | Compound
Monomial = tuple[Atom, ...]
DimLike = int | str  # what a user writes; `Dim` is accepted everywhere too
_MOST_TERMS = 4096  # a product of sums multiplies out: a short text could ask for 2**50 terms
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, eq=False)
class Dim:
    """A size that is not a plain number. Build it with `dim()` and arithmetic, never directly."""

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self.terms == other.terms)

    @cached_property
    def _text(self) -> str:
        out = ""
        for monomial, factor in self.terms:
            body = "*".join(str(a) for a in monomial)
            size = abs(factor)
            piece = (body if size == 1 else f"{size}*{body}") if monomial else str(size)
            sign = "-" if factor < 0 else "+"
            out += f" {sign} {piece}" if out else (f"-{piece}" if factor < 0 else piece)
        return out

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __add__(self, other: int | Dim) -> int | Dim:
        return _combine(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: int | Dim) -> int | Dim:
        return _combine(self, other, -1)

    def __rsub__(self, other: int | Dim) -> int | Dim:
        return _combine(self * -1, other, 1)

    def __neg__(self) -> int | Dim:
        return self * -1

    def __mul__(self, other: int | Dim) -> int | Dim:
        if type(other) is int:  # the usual case: every term is scaled, and their order stays
            if other == 1:
                return self
            return made_dim(tuple([(monomial, factor * other) for monomial, factor in self.terms])) if other else 0
        total: dict[Monomial, int] = {}
        if len(self.terms) * len(_terms(other)) > _MOST_TERMS:
            raise ParseError("a dim expression is too large")
        for left, a in self.terms:
            for right, b in _terms(other):
                key = tuple(sorted(left + right, key=str))
                total[key] = total.get(key, 0) + a * b
        return _normal(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(other, self)

    def __mod__(self, other: int | Dim) -> int | Dim:
        return mod(self, other)

    def __rmod__(self, other: int | Dim) -> int | Dim:
        return mod(other, self)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The names this size depends on."""
        names: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Symbol):
                    names.add(atom.name)
                else:
                    names |= symbols_of(atom.left) | symbols_of(atom.right)
        return frozenset(names)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The number this size is when each symbol has the given value."""
        total = 0
        for monomial, factor in self.terms:
            for atom in monomial:
                factor *= _atom_value(atom, sizes)
            total += factor
        return total

    def substitute(self, sizes: Mapping[str, int | Dim]) -> int | Dim:
        """The size with some symbols replaced by other sizes."""
        total: int | Dim = 0
        for monomial, factor in self.terms:
            product: int | Dim = factor
            for atom in monomial:
                product = product * _atom_substitute(atom, sizes)
            total = total + product
        return total


made_dim = lru_cache(maxsize=4096)(Dim)  # sizes repeat: equal ones are one, which dictionaries tell at a glance


def _grouped(size: int | Dim) -> str:
    """As an operand: in parentheses, unless it is one name, number or operation, which brings its own."""
    if not isinstance(size, Dim):
        return str(size)
    (monomial, factor), *others = size.terms
    return str(size) if factor == len(monomial) == 1 and not others else f"({size})"


def _terms(size: int | Dim) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Dim) else (((), size),)


def _normal(total: dict[Monomial, int]) -> int | Dim:
    kept = {m: f for m, f in total.items() if f}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    # Symbols first, the constant last: M*8 + 1 reads better than 1 + M*8.
    return made_dim(tuple(sorted(kept.items(), key=lambda item: (not item[0], tuple(str(a) for a in item[0])))))


def _combine(a: int | Dim, b: int | Dim, sign: int) -> int | Dim:
    total = dict(_terms(a))
    for monomial, factor in _terms(b):
        total[monomial] = total.get(monomial, 0) + sign * factor
    return _normal(total)


def _atom_value(atom: Atom, sizes: Mapping[str, int]) -> int:
    if isinstance(atom, Symbol):
        return sizes[atom.name]
    left, right = evaluate(atom.left, sizes), evaluate(atom.right, sizes)
    return {"floordiv": lambda: left // right, "mod": lambda: left % right,
            "min": lambda: min(left, right), "max": lambda: max(left, right)}[atom.op]()  # fmt: skip


def _atom_substitute(atom: Atom, sizes: Mapping[str, int | Dim]) -> int | Dim:
    if isinstance(atom, Symbol):
        return sizes.get(atom.name, symbol(atom.name))
    build = {"floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum}[atom.op]
    return build(substitute(atom.left, sizes), substitute(atom.right, sizes))


def _atom(atom: Atom) -> Dim:
    return made_dim((((atom,), 1),))


def is_name(text: str) -> bool:
    """Whether a text can name a dim."""
    return _NAME.match(text) is not None


def symbol(name: str) -> Dim:
    """The size named `name`."""
    if not is_name(name):
        raise ParseError(f"{name!r} is not a dim name; use letters, digits and underscores")
    return _atom(Symbol(name))


def floordiv(a: int | Dim, b: int | Dim) -> int | Dim:
    """Floor division, simplified where the divisor divides every term or the sizes are numbers."""
    if isinstance(a, int) and isinstance(b, int) and b != 0:
        return a // b
    if b == 1:
        return a
    if a == b:
        return 1
    if isinstance(b, int) and b > 0 and isinstance(a, Dim):
        whole = {m: f // b for m, f in a.terms if f % b == 0}
        rest = {m: f for m, f in a.terms if f % b}
        if not rest:
            return _normal(whole)
        if len(rest) == 1 and () in rest and 0 <= rest[()] < b and whole:
            return _normal(whole)  # (b*x + r) // b == x
        if whole:
            return _normal(whole) + floordiv(_normal(rest), b)
    divided = _divide_monomials(a, b)
    return divided if divided is not None else _atom(Compound("floordiv", a, b))


def surely_nonnegative(size: int | Dim) -> bool:
    """Whether a size is at least 0 whatever its symbols are."""
    if not isinstance(size, Dim):
        return size >= 0
    return all(factor > 0 and all(_nonnegative_atom(a) for a in monomial) for monomial, factor in size.terms)


def _nonnegative_atom(atom: Atom) -> bool:
    return isinstance(atom, Symbol) or (surely_nonnegative(atom.left) and surely_nonnegative(atom.right))


def _divide_monomials(a: int | Dim, b: int | Dim) -> int | Dim | None:
    """Exact division by a single product such as 2*M, when every term of `a` contains it."""
    if not isinstance(a, Dim) or not isinstance(b, Dim) or len(b.terms) != 1:
        return None
    (divisor, factor), total = b.terms[0], {}
    for monomial, f in a.terms:
        left = list(monomial)
        for atom in divisor:
            if atom not in left:
                return None
            left.remove(atom)
        if f % factor:
            return None
        total[tuple(left)] = f // factor
    return _normal(total)


def mod(a: int | Dim, b: int | Dim) -> int | Dim:
    """Remainder with the divisor's sign, simplified where it is known."""
    if isinstance(a, int) and isinstance(b, int) and b != 0:
        return a % b
    if b == 1 or a == b:
        return 0
    if isinstance(b, int) and b > 0 and isinstance(a, Dim):
        rest = _normal({m: f % b for m, f in a.terms})
        if isinstance(rest, int):
            return rest % b
        return _atom(Compound("mod", rest, b))
    return 0 if _divide_monomials(a, b) is not None else _atom(Compound("mod", a, b))


def minimum(a: int | Dim, b: int | Dim) -> int | Dim:
    """The smaller size; decided when the two differ by a number."""
    return _extreme("min", a, b)


def maximum(a: int | Dim, b: int | Dim) -> int | Dim:
    """The larger size; decided when the two differ by a number."""
    return _extreme("max", a, b)


def _extreme(op: str, a: int | Dim, b: int | Dim) -> int | Dim:
    difference = a - b
    if isinstance(difference, int):
        return a if (difference <= 0) == (op == "min") else b
    left, right = sorted((a, b), key=str)
    return _atom(Compound(op, left, right))


def ceildiv(a: int | Dim, b: int) -> int | Dim:
    """How many pieces of size `b` cover `a`."""
    return floordiv(a + (b - 1), b)


def product(sizes: tuple[int | Dim, ...] | list[int | Dim]) -> int | Dim:
    """The number of elements of a shape."""
    number = 1
    named: list[Dim] = []
    for size in sizes:
        if isinstance(size, Dim):
            named.append(size)
        else:
            number *= size
    return _product(tuple(named)) * number if named else number


@lru_cache(maxsize=4096)
def _product(sizes: tuple[Dim, ...]) -> int | Dim:
    """Shapes repeat, and multiplying out is slow."""
    total: int | Dim = 1
    for size in sizes:
        total = total * size
    return total


def symbols_of(size: int | Dim) -> frozenset[str]:
    """The names a size depends on; none for a number."""
    return size.symbols if isinstance(size, Dim) else frozenset()


def evaluate(size: int | Dim, sizes: Mapping[str, int]) -> int:
    """The number a size is when each symbol has the given value."""
    return size.evaluate(sizes) if isinstance(size, Dim) else size


def substitute(size: int | Dim, sizes: Mapping[str, int | Dim]) -> int | Dim:
    """The size with some symbols replaced."""
    return size.substitute(sizes) if isinstance(size, Dim) else size
