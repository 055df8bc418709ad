"""Verdicts: records of what Spark has said about a report's text and the planner's reading of it.

One record for each question (:class:`forerun.planner.contract.Question`) and judge, which is a
version of Spark with its settings: what both say never changes, so it is asked once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forerun.include.state.layout import verdict_key, verdicts_folder
from forerun.include.state.records import decode, encode
from forerun.include.stores.store import Store, StoreReader

Outcome = Literal["same", "differs", "refused", "not-asked"]
"""``same``: Spark makes one plan of both; ``differs``: two; ``refused``: Spark cannot analyze the
text at all; ``not-asked``: this engine cannot say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingVerdict:
    """The verdict of a judge. ``why``: where the plans part, or Spark's own message, empty if they
    are the same. ``by`` is the engine with its version, for people; ``cpu_ms`` the CPU time of the
    driver that it took."""

    outcome: Outcome
    why: str
    by: str
    judged_at: str
    cpu_ms: int

    @property
    def sentence(self) -> str:
        """Return what the verdict means for the day, for people."""
        if self.outcome == "same":
            return f"{self.by} reads the text as it was planned."
        if self.outcome == "not-asked":
            return f"Whether Spark reads the text as it was planned was not asked: {self.why}."
        if self.outcome == "refused":
            return f"{self.by} refuses the text: {self.why}"
        return (
            f"{self.by} reads the text otherwise than it was planned, so the day is batch by the "
            f"text: {self.why}"
        )


def record_verdict(store: Store, question: str, judge: str, verdict: ReadingVerdict) -> None:
    """Record it, unless another application has: the first one counts."""
    store.put_if_absent(verdict_key(question, judge), encode(verdict))


def read_verdict(store: StoreReader, question: str, judge: str) -> ReadingVerdict | None:
    """Return what a judge has said about a question; None if it was not asked yet."""
    key = verdict_key(question, judge)
    found = store.find(key)
    return decode(ReadingVerdict, found.data, key) if found else None


def newest_verdict(store: StoreReader, question: str) -> ReadingVerdict | None:
    """Return what was said last about a question, by whatever judge; None if it was not asked."""
    keys = [file.key for file in store.list(verdicts_folder(question))]
    found = [decode(ReadingVerdict, store.get(key), key) for key in keys]
    return max(found, key=lambda verdict: verdict.judged_at, default=None)
