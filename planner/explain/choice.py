"""Why a plan is batch although early work was possible, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator

from planner.cost.constants import CLEARLY
from planner.explain.found import MICRO, Found


def why_batch(found: Found) -> Iterator[str]:
    """The best early work that was looked at, and what speaks against it; nothing if the plan works
    early, or batch was asked for."""
    decision = found.decision
    early = [one for one in decision.rejected if not one.is_batch]
    if not decision.chosen.is_batch or not decision.open:
        return
    if not early:
        yield "  no early work looked at: to open one more run costs more than it could save"
        return
    best = min(early, key=lambda one: (one.total, one.opened))
    share = best.total / decision.batch.total if decision.batch.total else 1.0
    runs = ", ".join(map(str, best.opened))
    if share < CLEARLY:
        against = f"but its final run alone {best.by_run[-1] / MICRO:.2f}, more than batch"
    else:
        against = f"{share:.2f} of batch; worth it below {CLEARLY}"
    cost = f"{best.total / MICRO:.2f} CPU s weighted"
    yield f"  no early work: at best (runs {runs}) {cost}, {against}"
