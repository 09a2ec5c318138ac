"""A yardstick: a fixed piece of work that is timed beside every block, to know how fast the machine itself was then.

A machine that others share, behind a hypervisor or on the other half of a core, gets slower without any clock of this
system telling: no time is lost, every instruction takes longer. Two runs between which that changed differ, whatever
they run. The work is what feels such a change most: multiplications and additions at the rate the core can do them, on
numbers from the nearest cache. It is the same on every thread, and of vectors so short that no core slows down for
them. Of what other programs do to the memory behind the caches it tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profiler.analysis.statistics import median_of

NAME = "kg_yardstick"
TIMED = 2
"""How often it is done beside a block."""
_CHAINS, _TURNS = 8, 1 << 15  # enough of them for two units of latency 4; some 50 us at 2.5 GHz
_LANES, _NUMBERS = "<4 x float>", 1024


def yardstick_ir() -> str:
    """It as a function that a pool of threads calls."""
    half, one = (f"<{', '.join([f'float {value}'] * 4)}>" for value in ("0.5", "1.0"))
    chains = range(_CHAINS)
    begins = "\n".join(f"  %v{at} = phi {_LANES} [ {one}, %filled ], [ %w{at}, %turn ]" for at in chains)
    steps = "\n".join(
        f"""  %p{at} = getelementptr {_LANES}, ptr %near, i64 {at}
  %x{at} = load volatile {_LANES}, ptr %p{at}, align 16
  %h{at} = fmul contract {_LANES} %v{at}, {half}
  %w{at} = fadd contract {_LANES} %h{at}, %x{at}"""
        for at in chains
    )
    ends = "\n".join(f"  store volatile {_LANES} %w{at}, ptr %numbers, align 16" for at in chains)
    return f"""
define void @{NAME}(i64 %tid, i64 %threads, ptr %args) nounwind {{
entry:
  %numbers = alloca [{_NUMBERS} x {_LANES}], align 64
  br label %fill
fill:
  %at = phi i64 [ 0, %entry ], [ %at.next, %fill ]
  %place = getelementptr {_LANES}, ptr %numbers, i64 %at
  store volatile {_LANES} {one}, ptr %place, align 16
  %at.next = add i64 %at, 1
  %unfilled = icmp ult i64 %at.next, {_NUMBERS}
  br i1 %unfilled, label %fill, label %filled
filled:
  br label %turn
turn:
  %i = phi i64 [ 0, %filled ], [ %i.next, %turn ]
{begins}
  %first = mul i64 %i, {_CHAINS}
  %row = and i64 %first, {_NUMBERS - 1}
  %near = getelementptr {_LANES}, ptr %numbers, i64 %row
{steps}
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, {_TURNS}
  br i1 %more, label %turn, label %done
done:
{ends}
  ret void
}}
"""


def needed(spans: Sequence[np.ndarray], lost: Sequence[np.ndarray], threads: int) -> float:
    """Nanoseconds that it took in a process, without the processor time that other programs took."""
    return median_of(np.concatenate(spans) - np.concatenate(lost) / threads)
