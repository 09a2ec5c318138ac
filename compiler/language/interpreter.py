"""The language put together: what each kind of syntax means, how each value is called, the names every kernel knows."""

from __future__ import annotations

from compiler.language.builtins import BUILTINS
from compiler.language.builtins.registry import Builtin, call_builtin
from compiler.language.context import Host
from compiler.language.syntax.branches import branch
from compiler.language.syntax.calls import CALLS
from compiler.language.syntax.expressions import EXPRESSIONS
from compiler.language.syntax.run import Language, Run
from compiler.language.syntax.statements import STATEMENTS
from compiler.language.values.dtypes import LANGUAGE_DTYPES

_LANGUAGE = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    branch=branch,
    calls=CALLS | {Builtin: call_builtin},
    names={**LANGUAGE_DTYPES, **BUILTINS},
)


def interpret(host: Host) -> Run:
    """A new elaboration."""
    return Run(_LANGUAGE, host)
