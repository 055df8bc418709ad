"""No secret in the repository: keys by their shape, and values given to names that hold secrets."""

from __future__ import annotations

import re

import pytest

from tests.meta.sources import ROOT, tracked

SHAPES = {
    "AWS key id": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    "token of a forge": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|glpat-[A-Za-z0-9_-]{20,})"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "fernet key": re.compile(r"fernet_key\s*=\s*[A-Za-z0-9_-]{43}="),
    "JWT": re.compile(r"\beyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{10,}"),
    "password in a URI": re.compile(r"://[^/\s:@{}$<>]+:[^/\s:@{}$<>]{3,}@"),
    "a value for a secret": re.compile(
        r"(?i)\b(?:secret(?:_access)?_key|secret\.key|password|api_key|auth_token)\b"
        r"['\"]?\s*[:=]\s*['\"][A-Za-z0-9/+_-]{16,}['\"]"
    ),
}
SKIPPED = {".parquet", ".png", ".jpg", ".lock"}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_no_secret_in_tracked_files(name):
    found = []
    for path in tracked():
        if path.suffix in SKIPPED:
            continue
        text = (ROOT / path).read_text(errors="replace")
        found += [f"{path}: {match[0][:12]}..." for match in SHAPES[name].finditer(text)]
    assert not found, f"{name}: " + ", ".join(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AWS key id", "AKI" + "A" + "Z" * 16),
        ("private key", "-----BEGIN RSA " + "PRIVATE KEY-----"),
        ("a value for a secret", "secret_key" + ' = "' + "q" * 20 + '"'),
        ("password in a URI", "postgres" + "://me:" + "hunter2" + "@db/x"),
    ],
)
def test_the_scan_finds_what_it_looks_for(name, text):
    assert SHAPES[name].search(text)
