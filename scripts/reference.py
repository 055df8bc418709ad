"""Write docs/reference/fields.md from the docstrings of what authors of reports write.

    python -m scripts.reference

A field's docstring stands below it, an option's sentence in a table beside the functions that take
it. Sources are read and not imported: Airflow is not needed, and annotations are as written.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "fields.md"

REPORTS = "include/reports"
CONTRACT = "planner/contract/plan_v1.py"
RECORDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "A report",
        (
            ("ReportSpec", f"{REPORTS}/spec.py"),
            ("Parameter", CONTRACT),
            ("Session", f"{REPORTS}/spark/session.py"),
        ),
    ),
    (
        "What it is about, if not a day",
        tuple(
            (name, f"{REPORTS}/period.py")
            for name in ("Weekly", "Monthly", "PeriodsFrom", "Trailing")
        ),
    ),
    (
        "Its sources",
        (
            ("SourceSpec", f"{REPORTS}/sources/source.py"),
            ("ColumnSpec", CONTRACT),
            ("ForeignKey", CONTRACT),
        ),
    ),
    (
        "When a source is complete",
        tuple(
            (name, f"{REPORTS}/sources/complete_when.py")
            for name in (
                "MarkerFile",
                "HourlyMarkers",
                "ExpectedCount",
                "ClockTime",
                "AssetEvent",
                "WhenPublished",
            )
        ),
    ),
    (
        "Its runs",
        (
            ("RunPolicy", f"{REPORTS}/run_policy.py"),
            ("RunTime", f"{REPORTS}/run_policy.py"),
            ("Choose", f"{REPORTS}/run_policy.py"),
            ("Hours", f"{REPORTS}/values/hours.py"),
        ),
    ),
    (
        "When an early run starts",
        tuple(
            (name, f"{REPORTS}/sources/start_when.py")
            for name in ("AfterRows", "Every", "PriceAtMost", "WhenComplete")
        ),
    ),
    (
        "When it is due, and where it goes",
        (
            ("DueOn", f"{REPORTS}/calendar.py"),
            *(
                (name, f"{REPORTS}/sinks.py")
                for name in (
                    "VersionedFolder",
                    "PartitionFolder",
                    "DeltaTable",
                    "IcebergTable",
                    "PostgresqlTable",
                )
            ),
            ("Shadow", f"{REPORTS}/shadow.py"),
        ),
    ),
    ("What must hold", (("Expectation", f"{REPORTS}/expectations.py"),)),
    (
        "Several reports",
        (
            ("ReportGroup", f"{REPORTS}/group.py"),
            ("Cluster", f"{REPORTS}/cluster.py"),
            ("Blackout", f"{REPORTS}/cluster.py"),
        ),
    ),
)
AUTHORING = "plugins/forerun_airflow/authoring"
FUNCTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "progressive_dag",
        (("progressive_dag", f"{AUTHORING}/dag.py"), ("add_report_tasks", f"{AUTHORING}/dag.py")),
    ),
    (
        "group_dag",
        (
            ("group_dag", f"{AUTHORING}/group_dag.py"),
            ("add_group_tasks", f"{AUTHORING}/group_dag.py"),
        ),
    ),
)
HEAD = """# Fields

What a report, its sources and its DAG can be given: each field with its type, its default, and what
it means. `from forerun.airflow import ReportSpec, SourceSpec, ...` has all of these names. A field
that a record has not, or a value of another type, is an error where the record is built. A `Length`
is a length of time: `"5m"`, `"1h30m"`, `"+01:00"` or a `timedelta`.

<!-- written by `python -m scripts.reference` from the docstrings of the fields -->
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of a record or an option of a function, with its docstring ("" for none)."""

    name: str
    type: str
    default: str
    meaning: str


def record_of(name: str, file: str) -> tuple[str, list[Entry]]:
    """Return the docstring of a dataclass, and its fields in order. Raises KeyError if the file has
    no such class."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}[name]
    return ast.get_docstring(found) or "", list(_fields(found))


def _fields(record: ast.ClassDef) -> Iterator[Entry]:
    for node, after in zip(record.body, [*record.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        said = after.value if isinstance(after, ast.Expr) else None
        text = str(said.value) if isinstance(said, ast.Constant) else ""
        yield Entry(node.target.id, ast.unparse(node.annotation), _default(node.value), text)


def _default(value: ast.expr | None) -> str:
    """Return the default as an author would write it; "" for a field that must be given."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "later":
        value = value.args[0]  # a field that records of older versions have not
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        made = [word.value for word in value.keywords if word.arg == "default_factory"]
        return f"{ast.unparse(made[0])}()" if made else ""
    return "" if value is None else ast.unparse(value)


def options_of(functions: tuple[tuple[str, str], ...]) -> list[Entry]:
    """Return the keyword options of the functions, with the sentences of ``ABOUT``."""
    about = _about()
    found: list[Entry] = []
    for name, file in functions:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        node = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}[name]
        for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            type_ = ast.unparse(one.annotation) if one.annotation else ""
            found.append(Entry(one.arg, type_, _default(default), about.get(one.arg, "")))
    return found


def _about() -> dict[str, str]:
    tree = ast.parse((ROOT / AUTHORING / "options.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "ABOUT" and node.value:
            table: dict[str, str] = ast.literal_eval(node.value)
            return table
    raise KeyError("ABOUT")


def page() -> str:
    """Return the page, as it should be now."""
    out = [HEAD]
    for title, records in RECORDS:
        out.append(f"## {title}\n")
        for name, file in records:
            text, fields = record_of(name, file)
            out += [f"### {name}\n", f"{_markdown(text)}\n", *_table(fields)]
            if name == "Expectation":
                out.append(
                    '`expect("expect_column_values_to_not_be_null", column="id", '
                    'severity="warning")` writes one as a call: its name, then its arguments.\n'
                )
    out.append("## Options of the DAG\n")
    for name, functions in FUNCTIONS:
        out += [f"### {name}\n", *_table(options_of(functions))]
    out.append(
        "`ProgressiveTaskGroup(spec, group_id=...)` takes the options of `progressive_dag` that "
        "are about tasks. All other options go to Airflow's `DAG`, `TaskGroup` and operators "
        "([which](../guides/reports.md#options-of-airflow)).\n"
    )
    return "\n".join(out)


def _table(fields: list[Entry]) -> list[str]:
    if not fields:
        return []
    head = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    rows = (
        (f"`{one.name}`", _code(one.type), _code(one.default) or "required", _markdown(one.meaning))
        for one in fields
    )
    return [*head, *(f"| {' | '.join(cells)} |" for cells in rows), ""]


def _code(text: str) -> str:
    """Return code for a cell of a table, in which a bar would end the cell."""
    return " or ".join(f"`{part}`" for part in text.split(" | ")) if text else ""


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: roles as the last part of what they name."""
    flat = re.sub(r":\w+:`(?:[\w.]+\.)?([\w]+)`", r"`\1`", text).replace("``", "`")
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", flat)).replace(
        "|", "\\|"
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
