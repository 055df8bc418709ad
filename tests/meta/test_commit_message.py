"""The hook on messages of commits, with git itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scripts.commit_message import problems
from tests.meta.sources import ROOT

WHY = "\n\nIt was wrong where two runs met."


@pytest.mark.parametrize(
    ("message", "files"),
    [
        ("Mend a link", 1),
        ("Mend a link\n", 2),
        ("x" * 72, 1),
        ("Give rooms to drawers" + WHY, 40),
        ("Mend a link\n\n# Please enter the commit message\n#\tmodified: a", 2),
        ("Merge branch 'docs'", 40),
        ("fixup! Give rooms to drawers", 40),
    ],
)
def test_a_good_message_is_let_through(message, files):
    assert not list(problems(message, files))


@pytest.mark.parametrize(
    ("message", "files", "said"),
    [
        ("x" * 73, 1, "has 73 characters"),
        ("Give rooms to drawers", 3, "no body"),
        ("Give rooms to drawers\n\n# only a comment\n", 3, "no body"),
        ("Give rooms\nto drawers", 1, "second line"),
        ("Mend a link.", 1, "full stop"),
        ("\n", 1, "is empty"),
    ],
)
def test_a_message_that_says_too_little_is_named(message, files, said):
    assert any(said in one for one in problems(message, files))


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    known = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    command = ["git", "-C", str(folder), *known, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_git_refuses_what_the_hook_refuses(tmp_path):
    _git(tmp_path, "init", "-q")
    hook = tmp_path / ".git" / "hooks" / "commit-msg"
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/scripts/commit_message.py" "$1"\n')
    hook.chmod(0o755)
    for name in "abc":
        (tmp_path / name).write_text(name)
    _git(tmp_path, "add", ".")
    refused = _git(tmp_path, "commit", "-m", "Add three files")
    assert refused.returncode != 0
    assert "no body" in refused.stderr
    done = _git(tmp_path, "commit", "-m", "Add three files", "-m", "They are what a test needs.")
    assert done.returncode == 0, done.stderr


def test_the_hook_is_configured():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (hook,) = [h for repo in config["repos"] for h in repo["hooks"] if h["id"] == "message"]
    assert hook["stages"] == ["commit-msg"]
    assert hook["entry"].endswith("scripts/commit_message.py")
    assert "commit-msg" in config["default_install_hook_types"]
