"""A Python that has the locked packages and not this project: what a cluster's driver finds."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def bare_python(folder: Path) -> Path:
    """Make a virtual environment in ``folder`` and return its interpreter.

    Its packages are links to those of the running environment, without the project's editable
    install and without the ``.pth`` files that would bring it in.
    """
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    packages.mkdir(parents=True)
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if entry.suffix != ".pth" and "forerun" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    base = Path(sys.executable).resolve()
    python.symlink_to(base)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    return python
