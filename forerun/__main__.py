"""``python -m forerun``."""

from __future__ import annotations

from forerun.cli.app import main

main()
