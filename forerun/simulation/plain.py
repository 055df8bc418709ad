"""The plain query beside a day: the user's own text, run once over the complete data, and whether
the day's result equals what it gives."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import pyarrow as pa

from forerun.include.days.handle import Day
from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.prepare import PreparedRun, open_generation, prepare_run
from forerun.include.state.layout import Generation
from forerun.include.state.records import RunCommit
from forerun.include.state.rows import result_rows
from forerun.include.stores.opening import open_store
from forerun.include.verify.equality import Comparison, compare
from forerun.planner.errors import SqlError
from forerun.planner.props.several_answers import several_answers
from forerun.planner.request import Settings, Source
from forerun.planner.sql.frontend import Query, read_query
from forerun.planner.sql.syntax.unlimited import without_limit
from forerun.simulation import accounts
from forerun.simulation.accounts import RunAccount
from forerun.simulation.group_account import in_sum
from forerun.simulation.limit_ties import find_cut
from forerun.simulation.running import Runner


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """The query of the report ``spec`` (whose store is named) over the ``sources`` of ``day``."""

    spec: ReportSpec
    sources: tuple[Source, ...]
    day: date
    runner: Runner

    def run(self) -> tuple[Generation, RunAccount]:
        """Run it over what has arrived, as a report of its own, in an application of its own."""
        return self._run("batch", self.spec.sql)

    def run_own(self) -> tuple[Generation, RunAccount]:
        """The same in stages of our own: what the query would cost as we write it."""
        return self._run("own", self.spec.sql, own_batch="always")

    def compare(self, at: Generation, plain_at: Generation, run: int = 0) -> Comparison:
        """The result that a run of a day committed, by default the final one, against that of
        :meth:`run`, before anything more has arrived. That one may have been run beside a day with
        other runs.

        Where ORDER BY ... LIMIT left open which rows come last and the day has others, the query
        is run once more, without its LIMIT, to see whether they are among those that tie.
        """
        query = self._read(self.spec.sql)
        store = open_store(self.spec.store)
        day = accounts.commit_with_result(store, at, run or self.spec.runs)
        expected, found = self._plain_result(plain_at), self._result(day)
        cut = find_cut(query.relation)
        verdict = compare(expected, found, cut=cut)
        text = self._unlimited(query) if cut is not None and verdict.undecided else None
        if cut is not None and text is not None:
            whole_at, _ = self._run("ties", text)
            ties = self._plain_result(whole_at)
            verdict = compare(expected, found, cut=replace(cut, ties=ties))
        return verdict if verdict.equal else self._with_reasons(verdict, query)

    def _with_reasons(self, verdict: Comparison, query: Query) -> Comparison:
        """Return the verdict on two results that differ, with what of the query has several right
        answers."""
        known = {source.name: source.keys for source in self.sources}
        said = (
            f"SQL has several right answers to this query: {one}"
            for one in several_answers(query.relation, known)
        )
        return replace(verdict, notes=(*verdict.notes, *said))

    def prepare(self) -> tuple[Day, PreparedRun]:
        """Prepare what :meth:`run` runs, for an application that also runs others."""
        return self._prepare("batch", self.spec.sql)

    def _run(
        self, what: str, sql: str, *, own_batch: Literal["always", "never"] = "never"
    ) -> tuple[Generation, RunAccount]:
        day, prepared = self._prepare(what, sql, own_batch=own_batch)
        used = self.runner.run([prepared.plan_uri], day.at.report, tiny=prepared.tiny)
        batch = accounts.read_batch(day.store, day.at)
        return day.at, replace(batch, process_cpu_s=used.process_cpu_s or batch.process_cpu_s)

    def _prepare(
        self, what: str, sql: str, *, own_batch: Literal["always", "never"] = "never"
    ) -> tuple[Day, PreparedRun]:
        once = replace(self.spec.policy, results_at=(), problem="pdw", inherit_days=0)
        spec = replace(self.spec, name=f"{self.spec.name}__{what}", sql=sql, policy=once)
        now = spec.points(self.day)[-1]
        settings = Settings(own_batch=own_batch, prices=self.runner.engine.prices)
        trigger = uuid.uuid4().hex
        day = open_generation(spec.store, spec, self.day, trigger=trigger, now=now)
        return day, prepare_run(day, spec.runs, method="batch", now=now, settings=settings)

    def _read(self, sql: str) -> Query:
        return read_query(
            sql,
            self.sources,
            allowed_functions=allowed_functions(),
            parameters=self.spec.parameters_on(self.day),
        )

    def _unlimited(self, query: Query) -> str | None:
        """The query without what limits it; None where that cannot be told from its text."""
        text = without_limit(self.spec.sql)
        if text is None:
            return None
        try:
            whole = self._read(text)
        except SqlError:
            return None
        same = [c.type for c in whole.relation.columns] == [c.type for c in query.relation.columns]
        if not same or whole.names != query.names or find_cut(whole.relation) is not None:
            return None
        return text

    def _plain_result(self, plain_at: Generation) -> pa.Table:
        return self._result(accounts.last_commit(open_store(self.spec.store), plain_at))

    def _result(self, commit: RunCommit) -> pa.Table:
        if commit.result is None:
            raise accounts.AccountError(
                f"run {commit.run} has committed no result", hint="Look at the log of its run."
            )
        return result_rows(open_store(self.spec.store), commit.result)


def run_together(queries: Sequence[PlainQuery], name: str) -> RunAccount:
    """Run all plain queries in one application, over what has arrived; what they took in sum.
    ``name`` is that of the group."""
    prepared = [query.prepare() for query in queries]
    used = queries[0].runner.run(
        [run.plan_uri for _, run in prepared],
        f"{name}__together",
        tiny=all(run.tiny for _, run in prepared),
    )
    found = [accounts.read_batch(day.store, day.at) for day, _ in prepared]
    return in_sum(found, used.process_cpu_s)
