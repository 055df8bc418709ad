"""Views that reports share: SQL files that a query names as it names a source.

A view is put into the text of each report that reads it, as a definition by WITH before its own: it
is planned with the report, and nothing is stored for it. What is wrong in a view is said by its own
file and line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from forerun.include.reports.declared import read_declared
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.names import check_name
from forerun.planner.errors import ForerunError, SqlError


@dataclass(frozen=True, slots=True)
class SharedView:
    """A view: its name, its text, and where that was read, for errors."""

    name: str
    text: str
    place: str


def read_views(folder: Path) -> tuple[SharedView, ...]:
    """Read the views of a folder, each a file ``NAME.sql``. Raises :class:`SpecError` for a folder
    without one, a file that cannot be read, and a name that no table can have."""
    files = sorted(folder.glob("*.sql"))
    if not files:
        raise SpecError(
            f"there is no view in {folder}", hint="Name a folder with files *.sql, one for a view."
        )
    found = []
    for path in files:
        check_name(path.stem, f"the view {path}")
        try:
            found.append(SharedView(path.stem, path.read_text(encoding="utf-8"), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"{path} cannot be read: {error}", hint="Look at the file.") from None
    return tuple(found)


def with_views(
    spec: ReportSpec, views: Iterable[SharedView], allowed: Iterable[str] = ()
) -> ReportSpec:
    """Return the report with the views that its text reads, and those that these read, put into it.
    ``allowed`` are the functions that the deployment allows.

    Raises :class:`SpecError` for views that read each other in a circle, for one that is named as a
    source is, and, by file and line, for one that is no query over the sources of the report.
    """
    from forerun.planner.sql.syntax.views import with_views as put_in

    known = {
        view.name.lower(): replace(view, text=spec.with_source_names(view.text)) for view in views
    }
    for source in spec.sources:
        if source.name.lower() in known:
            raise SpecError(
                f"report {spec.name} has a source {source.name}, and there is a view of that name: "
                f"{known[source.name.lower()].place}",
                hint="Give one of them another name.",
            )
    try:
        order = _needed(spec.sql, known, ())
    except SqlError:
        return spec  # said when the report is checked
    if not order:
        return spec
    for number, view in enumerate(order):
        _check(spec, view, put_in(view.text, _pairs(order[:number])), allowed)
    return spec.with_sql(put_in(spec.sql, _pairs(order)))


def _pairs(views: Iterable[SharedView]) -> list[tuple[str, str]]:
    return [(view.name, view.text) for view in views]


def _needed(
    sql: str, known: dict[str, SharedView], within: tuple[SharedView, ...]
) -> list[SharedView]:
    """The views that a text reads, each after those that it reads itself."""
    from forerun.planner.sql.syntax.views import tables_named

    found: list[SharedView] = []
    for name in sorted(tables_named(sql)):
        view = known.get(name)
        if view is None:
            continue
        if view in within:
            circle = " reads ".join(one.name for one in (*within[within.index(view) :], view))
            raise SpecError(f"{view.place}: {circle}", hint="A view cannot read itself.")
        try:
            below = _needed(view.text, known, (*within, view))
        except SqlError as error:
            raise SpecError(f"{view.place}, {error.message}", hint=error.hint) from None
        found += [one for one in (*below, view) if one not in found]
    return found


def _check(spec: ReportSpec, view: SharedView, text: str, allowed: Iterable[str]) -> None:
    try:
        read_declared(spec, text, allowed)
    except ForerunError as error:
        raise SpecError(
            f"{view.place}, {error.message}",
            hint=f"{error.hint} (The view is read by report {spec.name}.)".strip(),
        ) from None
