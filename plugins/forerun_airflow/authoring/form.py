"""The trigger form of a report's DAG."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from airflow.sdk import Param

from forerun.airflow.day import BACKFILL, MODES, REPAIR
from forerun.include.reports.spec import SpecError

_REPAIRS = (
    " **repair**: bring a published day up to its sources; its page shows which rows differ, and "
    "publishes them. **backfill**: compute the days that are named below in one application."
)


def report_params(
    mode: str = "auto", report_date: date | None = None, *, reports: Sequence[str] = ()
) -> dict[str, Param]:
    """The fields of the trigger form, with what they are filled in with. ``reports``: those of a
    group, of which a DAG run may be about some."""
    if mode not in MODES:
        raise SpecError(f"the mode {mode!r} is unknown", hint=f"Use one of {', '.join(MODES)}.")
    form = {
        "report_date": Param(
            report_date.isoformat() if report_date else None,
            type=["null", "string"],
            format="date",
            title="Report date",
            description_md="The day to report on, or any of its period. Empty: that of the run.",
        ),
        "mode": Param(
            mode,
            enum=[*MODES, REPAIR, BACKFILL],
            title="Mode",
            description_md="**auto**: early runs that are worth it, at their times. "
            "**replay**: the same, of a day that is over, one run after the other. "
            "**progressive**: all that can be done early, in every run, late or not, whatever it "
            f"costs. **batch**: one run with the plain query.{_REPAIRS}",
        ),
        "dry_run": Param(
            False,
            # Airflow's form marks whatever may not be null as required.
            type=["boolean", "null"],
            title="Dry run",
            description_md="Plan the first run, and say the plan in the log of its task `plan`. "
            "Nothing is computed, published or stored.",
        ),
    }
    form["days"] = Param(
        None,
        type=["null", "array"],
        items={"type": "string", "format": "date"},
        title="Days",
        description_md="Of a **backfill**: its days, each as YYYY-MM-DD, one a line.",
    )
    if reports:
        form["reports"] = Param(
            None,
            type=["null", "array"],
            items={"type": "string", "enum": list(reports)},
            title="Reports",
            description_md="The reports of the group that the DAG run is about, one a line. Empty: "
            "all of them.",
        )
    return form
