"""Decide which copy of pyspark an application imports.

spark-submit puts Spark's own zips of pyspark and py4j in front of what is installed. They hold no
compiled code, so every process compiles what it imports of them: half a CPU second of an
application that takes eight. Where Spark is the one of the installed package, both are the same.
"""

from __future__ import annotations

import sys
from pathlib import Path


def prefer_installed() -> None:
    """Leave Spark's zips out of the path if they lie in a package of pyspark that is on it, with
    the py4j that was installed for it. Spark of another place keeps its own."""
    folders = {Path(entry).resolve() for entry in sys.path}
    for zipped in [Path(entry) for entry in sys.path if Path(entry).name == "pyspark.zip"]:
        package = zipped.resolve().parents[2]
        parts = (package.parent / name / "__init__.py" for name in ("pyspark", "py4j"))
        if (
            package.name == "pyspark"
            and package.parent in folders
            and all(map(Path.is_file, parts))
        ):
            sys.path[:] = [entry for entry in sys.path if Path(entry).parent != zipped.parent]
