"""The documentation is true: its commands and code run, what it names exists.

Fenced blocks whose language is followed by ``run`` are executed, in order, in one folder per page.
The others are shown only because they would run this very suite, take minutes or need a service;
the targets and options they name are checked.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from forerun.cli import app as cli
from forerun.include.machine import jvm
from forerun.planner.algebra import relational
from forerun.planner.errors import Reason
from tests.meta.sources import ROOT, tracked

PAGES = [p for p in tracked() if p.suffix == ".md" and p.parts[0] in {p.name, "docs"}]
NAMES = [str(p) for p in PAGES]
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#([^)\s]*))?\)")
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@functools.cache
def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings as GitHub and the site write them in addresses."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def _runnable(page: str) -> list[tuple[str, str]]:
    blocks = _BLOCK.findall(_text(page))
    return [(language, code) for language, tags, code in blocks if "run" in tags.split()]


def _environment(bin_folder: Path) -> dict[str, str]:
    """The commands of this environment first, with the checkout's own `forerun` before all."""
    command = bin_folder / "forerun"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forerun "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    environment = jvm.driver_environment()
    path = [str(ROOT), environment.get("PYTHONPATH", "")]
    return {
        **environment,
        "PATH": f"{bin_folder}{os.pathsep}{environment['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "AIRFLOW_HOME": str(bin_folder / "airflow"),
    }


@pytest.mark.spark
@pytest.mark.parametrize("page", [name for name in NAMES if _runnable(name)])
def test_commands_and_code_run(page, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    environment = _environment(tmp_path / "bin")
    for language, code in _runnable(page):
        program = {"sh": ["bash", "-eu", "-c", code], "python": [sys.executable, "-c", code]}
        done = subprocess.run(
            program[language],
            cwd=tmp_path / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("page", NAMES)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = re.findall(r"`([^`\n]+)`", _text(page)) + [b[2] for b in _BLOCK.findall(_text(page))]
    for line in "\n".join(code).splitlines():
        if match := re.match(r"make ((?:[a-z0-9-]+ ?)+)", line):
            named = match[1].split()
            assert set(named) <= targets, f"{page}: {line}"


def _with_part(command: str, rest: str) -> list[str]:
    """A command, and of one with parts the part that is used: the first one where none is named."""
    groups = {group.name: group.typer_instance for group in cli.app.registered_groups}
    if command not in groups:
        return [command]
    parts = [part.name for part in groups[command].registered_commands]
    named = rest.split()[:1]
    return [command, named[0] if named and named[0] in parts else parts[0]]


@pytest.mark.parametrize("page", NAMES)
def test_commands_and_options_exist(page, capsys):
    uses = re.findall(r"\bforerun ([a-z]+)((?: +[^\s`|]+)*)", _text(page))
    for command, rest in uses:
        if cli.run([*_with_part(command, rest), "--help"]) != 0:
            assert command in {"is"}, f"{page}: forerun {command}"
            continue
        known = capsys.readouterr().out
        for option in re.findall(r"(--[a-z-]+)", rest):
            assert option in known, f"{page}: forerun {command} {option}"


@pytest.mark.parametrize("page", NAMES)
def test_links_and_named_files_exist(page):
    folder = (ROOT / page).parent
    for target, _, anchor in _LINK.findall(_text(page)):
        there = (folder / target if target else ROOT / page).resolve()
        assert there.exists(), f"{page} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in _anchors(there), f"{page} links to {target}#{anchor}"
    own = "planner|include|spark_jobs|plugins|dags|forerun|tests|scripts|docs"
    for name in re.findall(rf"`((?:{own})/[\w./-]*)`", _text(page)):
        assert (ROOT / name).exists(), f"{page} names {name}"


def test_every_recipe_names_the_command_that_tests_it():
    recipes = re.split(r"^## ", _text("CONTRIBUTING.md"), flags=re.MULTILINE)[1:]
    assert len(recipes) >= 9
    for recipe in recipes:
        title = recipe.splitlines()[0]
        assert "Test: `pytest " in recipe, f"CONTRIBUTING.md, {title}: which command tests it?"
        for command in re.findall(r"`pytest ([^`]*)`", " ".join(recipe.split())):
            for path in command.split():
                assert path.startswith("-") or (ROOT / path).exists(), f"{title}: {path}"


def test_every_reason_code_is_explained():
    text = _text("docs/guides/reports.md")
    assert not [reason.value for reason in Reason if f"`{reason.value}`" not in text]


def test_every_operator_has_a_formula_for_its_rows():
    text = _text("docs/how/statistics.md")
    operators = {
        name
        for name, kind in vars(relational).items()
        if isinstance(kind, type)
        and issubclass(kind, relational.Relation)
        and dataclasses.is_dataclass(kind)
        and kind is not relational.StateRead  # made where rows are counted, not estimated
    }
    assert len(operators) >= 12
    assert (
        sorted(
            name for name in operators if f"| `{name}`" not in text and f", `{name}`" not in text
        )
        == []
    )


def test_every_variable_is_documented():
    code = "\n".join(
        (ROOT / p).read_text()
        for p in tracked()
        if p.suffix == ".py" and p.parts[0] in {"include", "plugins", "forerun", "spark_jobs"}
    )
    named = set(re.findall(r'"(FORERUN_[A-Z0-9_]+)"', code))
    assert named
    documented = _text("docs/guides/operations.md")
    assert not [name for name in sorted(named) if f"`{name}`" not in documented]


def test_ci_runs_what_the_readme_says():
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in script if line.startswith("make")]
    assert commands == ["make check test"]
    assert f"```sh\n{commands[0]}\n```" in _text("README.md")
