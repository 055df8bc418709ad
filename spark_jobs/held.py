"""Common sub-plans while an application runs: computed by the first run that wants one, held for
the others, forgotten after the last.

Plans of several reports name a common sub-plan alike, but each of their runs has pinned its sources
for itself. So what is held has a digest of all that it depends on, and a run whose files are others
computes the rows anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from forerun.planner.contract.plan_v1 import CommonSubplan, Plan, SmallSide, Stage
from forerun.spark_jobs.engine import Engine


class HeldSubplans:
    """The rows that are held of the common sub-plans of an application's plans.

    ``plans``: those whose runs the application does; each stage that names a view reads it.
    """

    def __init__(self, plans: Iterable[Plan]) -> None:
        stages = (stage for plan in plans for stage in plan.run.stages)
        self._waiting = Counter(one.view for stage in stages for one in stage.common)
        self._held: dict[str, tuple[str, ExitStack]] = {}

    @contextmanager
    def read_by(self, engine: Engine, stage: Stage, digests: Mapping[str, str]) -> Iterator[None]:
        """While in it, the views of a stage's common sub-plans can be read. ``digests``: of all
        that each of them depends on, by its view. Afterwards, what nobody waits for is forgotten;
        if the stage fails, all that it was to read: the fault may lie there."""
        with ExitStack() as during:
            try:
                for one in stage.common:
                    self._bind(engine, one, digests[one.view], during)
                yield
            except BaseException:
                self.forget(stage)
                raise
        for one in stage.common:
            if self._waiting[one.view] <= 0:
                self._release(one.view)

    def forget(self, stage: Stage) -> None:
        """Hold nothing of what a stage reads any longer."""
        for one in stage.common:
            self._release(one.view)

    def close(self) -> None:
        """Hold nothing at all any longer."""
        for view in tuple(self._held):
            self._release(view)

    def _bind(self, engine: Engine, one: CommonSubplan, digest: str, during: ExitStack) -> None:
        """Have the view read from what is held, from rows that are held from now on where others
        wait for them, and else from what computes them."""
        self._waiting[one.view] -= 1
        known = self._held.get(one.view)
        if known is not None and known[0] == digest:
            return
        self._release(one.view)
        if self._waiting[one.view] <= 0:
            for side in one.small_sides:
                during.enter_context(computed_first(engine, side))
            engine.bind_view(one.view, engine.session.sql(one.sql))
            return
        with ExitStack() as made:
            for side in one.small_sides:
                made.enter_context(computed_first(engine, side))
            rows = engine.session.sql(one.sql)
            made.enter_context(engine.computed_first(one.view, rows, 0))
            self._held[one.view] = digest, made.pop_all()

    def _release(self, view: str) -> None:
        held = self._held.pop(view, None)
        if held is not None:
            held[1].close()


@contextmanager
def computed_first(engine: Engine, side: SmallSide) -> Iterator[None]:
    """While in it, the view of a small side can be read."""
    with engine.computed_first(side.view, engine.session.sql(side.sql), side.rows):
        yield
