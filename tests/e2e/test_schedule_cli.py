"""``forerun schedule``: nights from files, their tables, pictures and changes; bad nights."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from forerun.cli.app import run

NIGHT = {
    "day": "2026-11-23",
    "zone": "Europe/Berlin",
    "cluster": {
        "ceiling": 16,
        "prices": [
            {"start": "00:00", "end": "08:00", "value": 1.0},
            {"start": "08:00", "end": "24:00", "value": 0.5},
        ],
        "blackouts": [{"start": "25:30", "end": "26:00"}],
    },
    "reports": [
        {
            "name": "orders",
            "deadline": "26:30",
            "cores": 8,
            "arrivals": {"rows": 40_000_000, "start": "06:00", "end": "24:15"},
            "cost": {"start": 20, "per_million_rows": 90, "merge": 30, "per_batch": 10},
        },
        {
            "name": "<b>stock & co</b>",
            "deadline": "27:00",
            "cores": 4,
            "arrivals": {"points": [["06:00", 0], ["20:00", 9e6], ["23:30", 12e6]]},
            "cost": {"points": [[0, 20], [1e6, 200], [12e6, 2400]], "per_batch": 20},
        },
        {
            "name": "customers",
            "deadline": "30:00",
            "cores": 16,
            "at_most": 2,
            "arrivals": {
                "share": 0.9,
                "days": [
                    {"weekday": "Monday", "pins": [["12:00", 4e5], ["24:00", 1e6]]},
                    {"weekday": "tuesday", "pins": [["12:00", 6e5], ["24:00", 9e5]]},
                ],
            },
            "history": [[1e5, 150], [2e5, 280], [4e5, 555], [5e5, 690], [3e5, 460, 2]],
        },
    ],
}


def _changed(**changes: object) -> dict:
    """The night with something else in it; ``a__0__b`` names a place."""
    night = json.loads(json.dumps(NIGHT))
    for place, value in changes.items():
        *path, last = [int(p) if p.isdecimal() else p for p in place.split("__")]
        at = night
        for part in path:
            at = at[part]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return night


def _file(folder: Path, night: object = NIGHT, name: str = "night.json") -> str:
    path = folder / name
    path.write_text(json.dumps(night), encoding="utf-8")
    return str(path)


def _record(arguments: list[str], capsys, code: int = 0) -> dict:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_night_as_a_table(tmp_path, capsys):
    assert run(["schedule", _file(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "<b>stock & co</b>" in out
    assert "every one of 3 deadlines is met" in out
    assert re.search(r"orders .* 26:30 .* left", out)


def test_a_night_as_json(tmp_path, capsys):
    record = _record(["schedule", "plan", _file(tmp_path)], capsys)
    assert record["missed"] == []
    assert record["paid"] < record["one_batch_each"]["paid"]
    by_name = {one["name"]: one for one in record["reports"]}
    assert by_name["orders"]["deadline"] == "2026-11-24T01:30:00+00:00"
    assert sum(r["rows"] for r in by_name["orders"]["runs"]) == 40_000_000
    assert [r["final"] for r in by_name["customers"]["runs"]][-1] is True
    assert len(by_name["customers"]["runs"]) <= 2
    assert list(record["fits"]) == ["customers"]
    assert record["fits"]["customers"]["error"] < 0.05


def test_every_format_is_the_same_night(tmp_path, capsys):
    as_json = _record(["schedule", _file(tmp_path)], capsys)
    (tmp_path / "night.yaml").write_text(yaml.safe_dump(NIGHT), encoding="utf-8")
    assert _record(["schedule", str(tmp_path / "night.yaml")], capsys) == as_json
    dated = yaml.safe_dump(NIGHT).replace("'2026-11-23'", "2026-11-23")
    (tmp_path / "dated.yml").write_text(dated, encoding="utf-8")
    assert _record(["schedule", str(tmp_path / "dated.yml")], capsys) == as_json


def test_the_page_needs_nothing_from_elsewhere_and_escapes_names(tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("night.html", "night.svg")]
    given = ["schedule", _file(tmp_path), "--html", files[0], "--svg", files[1]]
    assert run(given) == 0
    capsys.readouterr()
    page, svg = (Path(file).read_text(encoding="utf-8") for file in files)
    assert "<b>stock" not in page
    assert "&lt;b&gt;stock &amp; co&lt;/b&gt;" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\((?!#)|@import", page)
    picture = ET.fromstring(svg)
    rects = [r for r in picture.iter() if r.tag.endswith("rect")]
    kinds = [r.get("class") for r in rects if r.get("rx") == "2.5"]
    record = _record(["schedule", _file(tmp_path)], capsys)
    runs = sum(len(one["runs"]) for one in record["reports"])
    assert kinds.count("early") + kinds.count("final") == runs + 2  # and the legend
    for rect in rects[1:]:
        assert float(rect.get("width", "0").rstrip("%")) >= 0


def test_a_large_night_is_drawn_in_small_rows(tmp_path):
    night = _changed(reports=[{**NIGHT["reports"][0], "name": f"r{i}"} for i in range(120)])
    night["cluster"]["ceiling"] = 2000
    assert run(["schedule", _file(tmp_path, night), "--svg", str(tmp_path / "n.svg")]) == 0
    high = ET.parse(tmp_path / "n.svg").getroot().get("viewBox", "").split()[-1]
    assert float(high) < 2000


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ("ceiling=2x", "peak_cores"),
        ("ceiling=24", "peak_cores"),
        ("price=02:00-20:00:0.1", "paid"),
        ("late=orders:+00:30", "paid"),
        ("rows=orders:1.5x", "paid"),
        ("deadline=orders:25:00", "reports"),
        ("drop=customers", "paid"),
    ],
)
def test_what_if(tmp_path, capsys, change, differs):
    night = _changed(reports__0__deadline="25:20")
    record = _record(["schedule", _file(tmp_path, night), "--what-if", change], capsys)
    if differs != "peak_cores":
        assert record[differs] != record["as_it_is"][differs]
    assert len(record["as_it_is"]["reports"]) == 3


def test_what_if_there_were_another_report(tmp_path, capsys):
    another = _file(tmp_path, {"reports": [{**NIGHT["reports"][0], "name": "new"}]}, "new.json")
    given = ["schedule", _file(tmp_path), "--what-if", f"add={another}"]
    assert len(_record(given, capsys)["reports"]) == 4
    assert run(given) == 0
    assert "new" in capsys.readouterr().out


def test_what_if_a_deadline_cannot_be_met(tmp_path, capsys):
    given = ["schedule", _file(tmp_path), "--what-if", "deadline=orders:24:15"]
    record = _record(given, capsys, code=1)
    assert record["missed"] == ["orders"]
    (orders,) = (one for one in record["reports"] if one["name"] == "orders")
    assert orders["missing_s"] > 0
    assert run(given) == 1
    assert "late by" in capsys.readouterr().out


def test_a_simulated_night_with_faults(tmp_path, capsys):
    given = ["schedule", "simulate", _file(tmp_path)]
    faults = ["--late", "orders=+01:00", "--slow", "customers=1.5x", "--failed", "orders=1"]
    faults += ["--lost", "customers=1"]
    record = _record([*given, *faults], capsys)
    by_name = {one["name"]: one for one in record["reports"]}
    assert by_name["orders"]["tries"][0]["outcome"] == "failed"
    assert by_name["customers"]["tries"][0]["outcome"] == "lost"
    assert by_name["orders"]["tries"][-1]["start"] >= "2026-11-24T00:15:00+00:00"
    assert run([*given, *faults, "--html", str(tmp_path / "n.html")]) == 0
    assert "failed" in capsys.readouterr().out
    assert 'class="lost"' in (tmp_path / "n.html").read_text()


def test_a_simulated_night_without_faults_is_the_plan(tmp_path, capsys):
    record = _record(["schedule", "simulate", _file(tmp_path)], capsys)
    for one in record["reports"]:
        assert one["ended"] == one["planned_end"]


def test_surprises_are_the_same_for_the_same_seed(tmp_path, capsys):
    given = ["schedule", "simulate", _file(tmp_path), "--surprises"]
    first, again, other = (_record([*given, seed], capsys) for seed in ("3", "3", "4"))
    assert first == again != other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"day": "soon"}, "is not a date"),
        ({"zone": "Mars/Base"}, "is not known"),
        ({"reports": []}, "the night has no reports"),
        ({"extra": 1}, "extra"),
        ({"cluster__days": 0}, "1 to 14 days"),
        ({"cluster__ceiling": 0}, "the ceiling is 0 from 00:00 to 24:00"),
        ({"cluster__ceiling": 12}, "report customers needs 16 cores, and the ceiling is 12"),
        ({"cluster__prices__0__end": "07:00"}, "the price is not given from 07:00 to 08:00"),
        ({"cluster__prices__0__end": "09:00"}, "the price is given twice from 08:00 to 09:00"),
        ({"cluster__prices__0__value": -1}, "the price is -1 from 00:00 to 08:00"),
        ({"cluster__blackouts__0__end": "25:00"}, "blackout"),
        ({"reports__0__name": "customers"}, "two reports customers"),
        ({"reports__0__cores": 0}, "report orders needs cores above 0"),
        ({"reports__0__deadline": "soon"}, "'soon' is not a time"),
        ({"reports__0__deadline": "90:00"}, "report orders ends after what is known"),
        ({"reports__0__cost": None}, "report orders: what it costs is needed once"),
        ({"reports__0__history": [[1, 2]]}, "report orders: what it costs is needed once"),
        ({"reports__0__arrivals__rows": 0}, "report orders: its arrivals are 0 rows"),
        ({"reports__0__arrivals__end": "05:00"}, "from 06:00 to 05:00"),
        ({"reports__0__cost__points": [[0, 1]]}, "by points, and by a start"),
        ({"reports__1__arrivals__points": [["06:00", 5], ["08:00", 2]]}, "a curve must not fall"),
        ({"reports__1__cost__points": [[5, 1], [9, 2]]}, "begins at 0 rows"),
        ({"reports__2__history": [[1, 2], [2, 3]]}, "2 measurements do not tell"),
        ({"reports__2__history": [[1], [2]]}, "a past run is"),
        ({"reports__2__arrivals__days__0__weekday": "someday"}, "is no day of the week"),
    ],
)
def test_a_night_that_cannot_be_is_refused(tmp_path, capsys, changes, message):
    assert run(["schedule", _file(tmp_path, _changed(**changes))]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what-if", "weather=fine"], "is no change"),
        (["--what-if", "late=nobody:+01:00"], "no report 'nobody'"),
        (["--what-if", "ceiling=many"], "is not a number"),
        (["--what-if", "rows=orders:0x"], "more than 0"),
        (["--what-if", "price=0.3"], "names no hours"),
        (["--html", "nowhere/at/all.html"], "is not a folder"),
    ],
)
def test_what_is_no_option_is_refused(tmp_path, capsys, arguments, message):
    assert run(["schedule", _file(tmp_path), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--late", "orders"], "has no value"),
        (["--late", "orders=soon"], "is not a time"),
        (["--slow", "orders=-1"], "no number above 0"),
        (["--failed", "orders=0"], "no number from 1 on"),
        (["--lost", "nobody=1"], "no report 'nobody'"),
    ],
)
def test_what_is_no_fault_is_refused(tmp_path, capsys, arguments, message):
    assert run(["schedule", "simulate", _file(tmp_path), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("night.txt", "{}", "neither TOML, JSON nor YAML"),
        ("night.json", "{", "cannot be read"),
        ("night.toml", "day =", "cannot be read"),
        ("night.yaml", "a: [", "cannot be read"),
        ("night.json", "[]", "night.json"),
    ],
)
def test_a_file_that_is_no_night_is_refused(tmp_path, capsys, name, text, message):
    (tmp_path / name).write_text(text)
    assert run(["schedule", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_help_is_of_the_command_and_its_parts(capsys):
    for arguments in (["--help"], ["plan", "--help"], ["simulate", "--help"]):
        assert run(["schedule", *arguments]) == 0
        assert "forerun schedule" in capsys.readouterr().out
