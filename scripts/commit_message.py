"""Check the message of a commit: ``.pre-commit-config.yaml`` calls it in the stage ``commit-msg``.

    python -m scripts.commit_message .git/COMMIT_EDITMSG

The subject has at most 72 characters, which is what lists of commits show. From three files on a
body says why: what a diff of that size does can be read, what it is for cannot.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

SUBJECT = 72
FILES = 3
_SCISSORS = "# ------------------------ >8"
_MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


def problems(message: str, files: int) -> Iterator[str]:
    """Yield what is wrong with a message of a commit of so many files, a sentence each. Messages
    that git writes itself are left alone."""
    lines = [line for line in message.partition(_SCISSORS)[0].split("\n") if line[:1] != "#"]
    subject, rest = lines[0].strip(), lines[1:]
    if subject.startswith(_MADE_BY_GIT):
        return
    if not subject:
        yield "The subject is empty: say in its first line what the commit does."
    if len(subject) > SUBJECT:
        yield f"The subject has {len(subject)} characters: at most {SUBJECT}, the rest is body."
    if subject.endswith("."):
        yield "The subject ends in a full stop: leave it out."
    if rest and rest[0].strip():
        yield "The second line is not empty: without it git takes all for the subject."
    if files >= FILES and not any(line.strip() for line in rest):
        yield f"The commit has {files} files and no body: say below an empty line why it is made."


def staged() -> int:
    """Return how many files the commit changes."""
    command = ["git", "diff", "--cached", "--name-only", "-z"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    return listed.count(b"\0")


def main(arguments: Sequence[str]) -> int:
    """Return 1, and say why on stderr, if the message in the named file is not as it should be."""
    message = Path(arguments[0]).read_text(encoding="utf-8")
    found = list(problems(message, staged()))
    for one in found:
        print(one, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
