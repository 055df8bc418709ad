"""Explains the words of the trade on the pages, each by a tooltip where it stands first."""

from __future__ import annotations

from markupsafe import Markup

_TERMS = {
    "Latest safe start": "The last instant at which the final run can begin and be in time by the "
    "forecast, with its retries and the report's reserve.",
    "safe start": "The last instant at which the final run can begin and be in time by the "
    "forecast, with its retries and the report's reserve.",
    "Cost, of batch": "What the day takes as a share of one run over the whole day with the "
    "report's own text (batch), in CPU seconds times the price at their time; by estimate.",
    "Price": "What a CPU second costs at the time of the run, where 1 is the dearest or the usual "
    "hour.",
    "CPU s × price": "CPU seconds of whole processes, each times the price at its time.",
    "Source rows": "Rows that the run read of the sources.",
    "Kept rows read": "Rows that the run read of tables that earlier runs of the day have kept.",
    "Kept for later": "Tables that the run has written for later runs of the day.",
    "Executors": "CPU seconds in the stages alone, without the start of the application.",
    "Process": "CPU seconds of the whole application, its start included.",
    "Wall": "How long the application took by the clock.",
    "generation": "One attempt at the whole day; a day that is cleared begins a new one.",
    "pinned": "The exact files of a source, written down before a run reads them.",
    "not opened": "The plan gives this run nothing to do: it is skipped.",
    "mode": "How the day was asked for: auto decides by cost, batch is one run at the end, "
    "progressive works early in any case.",
}


def term(name: str) -> Markup:
    """Return a word with its meaning as a tooltip, which a screen reader reads, too."""
    return Markup('<abbr title="{}">{}</abbr>').format(_TERMS[name], name)
