"""Fills in the templates. Whatever a store holds is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from forerun.airflow.pages import PREFIX, figures
from forerun.airflow.pages.arrivals_drawing import arrivals_drawing
from forerun.airflow.pages.lanes_drawing import lanes_drawing
from forerun.airflow.pages.plan_drawing import plan_drawing
from forerun.airflow.pages.savings_drawing import savings_drawing, total_drawing
from forerun.airflow.pages.terms import term
from forerun.airflow.pages.timeline import day_timelines, strip
from forerun.include.oncall.day.actions import TITLES, WITH_REASON
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain.reasons import reason_text

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Where:
    """The place that a page is asked for: ``base`` is the path of the pages, ``framed`` whether it
    is shown inside of Airflow's UI. From there no link leads out: the frame of the UI forbids
    it."""

    base: str
    framed: bool

    @property
    def airflow(self) -> str:
        """The path of Airflow's own UI."""
        return self.base.removesuffix(PREFIX)


def where_of(request: Request) -> Where:
    """Return where a request asks."""
    framed = request.headers.get("sec-fetch-dest") == "iframe"
    return Where(base=request.scope.get("root_path", ""), framed=framed)


def render(template: str, where: Where, **values: object) -> str:
    """A page."""
    with figures.priced():
        return _environment().get_template(template).render(where=where, **values)


def _breakable(text: str) -> Markup:
    """A name or path that may be broken where a person would: after ``_``, before ``/``."""
    escaped = str(escape(text))
    return Markup(escaped.replace("_", "_<wbr>").replace("/", "<wbr>/"))


def _sentence(text: str) -> str:
    """Return a phrase as a sentence: with a capital letter, unless it begins with the name of a
    task, and with a full stop."""
    named = any(sign in text.partition(" ")[0] for sign in "_.[")
    begun = text if named else text[:1].upper() + text[1:]
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=figures.duration,
        margin=figures.margin,
        cpu=figures.cpu,
        money=figures.money,
        size=figures.size,
        rows=figures.rows,
        share=figures.share,
        reason=reason_text,
        breakable=_breakable,
        sentence=_sentence,
        parsed=datetime.fromisoformat,
    )
    environment.globals.update(
        MICRO=MICRO,
        action_titles=TITLES,
        with_reason=WITH_REASON,
        term=term,
        savings_drawing=savings_drawing,
        total_drawing=total_drawing,
        arrivals_drawing=arrivals_drawing,
        lanes_drawing=lanes_drawing,
        clock=figures.clock,
        timelines=day_timelines,
        strip=strip,
        plan_drawing=plan_drawing,
    )
    return environment
