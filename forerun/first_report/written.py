"""A first report as files: its SQL with the fields above it, and the DAG file that reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from forerun.first_report.columns import SeenTable, look_at
from forerun.first_report.keys import MOST_ROWS, find_key
from forerun.first_report.layout import NoTableError
from forerun.first_report.question import ask, find_join, named_by
from forerun.first_report.signs import find_sign
from forerun.first_report.tables import find_tables
from forerun.include.reports.sources.complete_when import ClockTime, HourlyMarkers, MarkerFile
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.store import Store
from forerun.planner.contract import ColumnSpec

_DAG_FILE = '''"""The reports of the folder reports: a DAG for each SQL file in it."""

from datetime import datetime

from forerun.airflow import report_folder

globals().update(report_folder("reports", start_date=datetime({start})))
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstReport:
    """A report that was found in folders: its name, its file's text, the tables that it reads, the
    newest day that all of them have (today's where none has days), and what to know of it."""

    name: str
    text: str
    tables: tuple[SeenTable, ...]
    day: date
    remarks: tuple[str, ...]

    @property
    def dag_file(self) -> str:
        """The text of a DAG file that makes a DAG of the report."""
        return _DAG_FILE.format(start=f"{self.day.year}, {self.day.month}, {self.day.day}")


def first_report(folders: Sequence[str], name: str, today: date) -> FirstReport:
    """Look at folders and write a report over what is in them. Raises :class:`NoTableError` where
    no table can be read."""
    with TemporaryDirectory(prefix="forerun-init-") as scratch:
        return _first_report(folders, name, today, FileStore(Path(scratch)))


def _first_report(folders: Sequence[str], name: str, today: date, scratch: Store) -> FirstReport:
    layouts, remarks = [], list[str]()
    for folder in folders:
        found, left_out = find_tables(folder)
        layouts += found
        remarks += [f"left out: {each}" for each in left_out]
    tables = []
    for layout in layouts:
        try:
            tables.append(_with_key(look_at(layout, scratch)))
        except NoTableError as error:
            remarks.append(f"left out: {error.message}")
    if not tables:
        raise NoTableError(
            f"no table in {', '.join(folders)} can be read: {'; '.join(remarks)}",
            hint="What is said of each is to be mended where its files are written.",
        )
    subject = max(tables, key=lambda one: _is_about(one, tables))
    join = find_join(subject, _others(subject, tables))
    read = (subject, join.table) if join else (subject,)
    remarks += [f"{one.source.name}: {each}" for one in read for each in one.remarks]
    remarks += [
        f"{one.source.name} is not read by the report"
        for one in tables
        if all(one is not other for other in read)
    ]
    day = subject.layout.days[-1] if subject.layout.days else today
    over, said = _source_fields(subject)
    remarks += said
    sources = {subject.source.name: over}
    if join:
        sources[join.table.source.name] = _source_fields(join.table)[0]
    report = name or f"first_{subject.source.name}"[:80]
    return FirstReport(
        name=report,
        text=_text(sources, ask(subject, join), growing=bool(subject.layout.days)),
        tables=read,
        day=day,
        remarks=tuple(remarks),
    )


def write(report: FirstReport, into: Path, *, force: bool) -> list[Path]:
    """Write the report's file, and the DAG file beside its folder where there is none. Raises
    :class:`NoTableError` for a report that is there already, unless by ``force``."""
    file, dags = into / "reports" / f"{report.name}.sql", into / "forerun_reports.py"
    if file.exists() and not force:
        raise NoTableError(
            f"{file} is there already", hint="Give another --name, or --force to write it anew."
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(report.text, encoding="utf-8")
    if dags.exists():
        return [file]
    dags.write_text(report.dag_file, encoding="utf-8")
    return [file, dags]


def _is_about(table: SeenTable, tables: Sequence[SeenTable]) -> tuple[bool, bool, int]:
    """Return by what tables are chosen to report about: having days, naming others' rows, size."""
    named = named_by(table, _others(table, tables))
    return bool(table.layout.days), bool(named), table.rows


def _others(table: SeenTable, tables: Sequence[SeenTable]) -> list[SeenTable]:
    return [one for one in tables if one is not table]


def _with_key(table: SeenTable) -> SeenTable:
    key, remarks = find_key(table), table.remarks
    if table.rows > MOST_ROWS:
        remarks = (*remarks, f"it has more than {MOST_ROWS:,} rows: no key was looked for")
    columns = tuple(
        replace(c, nullable=c.nullable and c.name not in key) for c in table.source.columns
    )
    source = replace(table.source, key=key, columns=columns)
    return replace(table, source=source, remarks=remarks)


def _source_fields(table: SeenTable) -> tuple[list[str], list[str]]:
    """The lines of a source's fields, and what to know of them."""
    source = table.source
    lines = [f"path: {_scalar(source.path)}", "columns:"]
    lines += [f"  {_scalar(c.name)}: {_scalar(_type(c))}" for c in source.columns]
    if source.format != "parquet":
        lines.append(f"format: {source.format}")
    if source.catalog:
        lines.append(f"catalog: {_scalar(source.catalog)}")
    if source.key:
        lines.append(f"key: [{', '.join(map(_scalar, source.key))}]")
    remarks = []
    if table.layout.days:
        rule, said = find_sign(table.layout)
        lines.append(f"complete_when: {_rule(rule)}")
        if said:
            remarks.append(f"{source.name}: {said}")
            lines[-1] += f"  # {said}"
    else:
        lines.append("arrival: static")
    lines += _strictness(source)
    return lines, remarks


def _strictness(source: SourceSpec) -> list[str]:
    return [
        f"{name}: {value}"
        for name, value in (
            ("extra_columns", source.extra_columns),
            ("narrower_types", source.narrower_types),
        )
        if value != "refuse"
    ]


def _rule(rule: MarkerFile | HourlyMarkers | ClockTime) -> str:
    match rule:
        case MarkerFile():
            return f"{{MarkerFile: {{name: {_scalar(rule.name)}}}}}"
        case HourlyMarkers():
            folder, name = _scalar(rule.folder), _scalar(rule.name)
            return f"{{HourlyMarkers: {{folder: {folder}, name: {name}}}}}"
        case ClockTime():
            return f"{{ClockTime: {{at: {_scalar(rule.at)}}}}}"


def _type(column: ColumnSpec) -> str:
    return column.type if column.nullable else f"{column.type} NOT NULL"


def _scalar(text: str) -> str:
    """A text as YAML: what JSON writes is YAML, too."""
    plain = text.isascii() and text.replace("_", "").isalpha()
    words = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    return text if plain and text.lower() not in words else json.dumps(text)


def _text(sources: dict[str, list[str]], sql: str, *, growing: bool) -> str:
    runs = ['{at: "12:00", weight: 0.3}', '{at: "18:00", weight: 0.3}', '{at: "24:00"}']
    lines = ["/*---", 'deadline: "30:00"  # six in the morning after', "sources:"]
    for name, fields in sources.items():
        lines += [f"  {name}:", *(f"    {line}" for line in fields)]
    lines += ["policy:", "  runs:", *(f"    - {run}" for run in (runs if growing else runs[-1:]))]
    return "\n".join([*lines, "---*/", sql])
