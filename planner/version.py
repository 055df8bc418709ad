"""The version of Forerun: the one place that states it.

The package's metadata, ``forerun --version`` and every record that is written read it here. It lies
in the planner because that is the only package that all others may import.
"""

from __future__ import annotations

VERSION = "0.2.0"
