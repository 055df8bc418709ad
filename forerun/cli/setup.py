"""``forerun setup``: prepares this machine, or an image, for the Spark drivers of reports."""

from __future__ import annotations

from typing import Annotated

import typer

from forerun import console


def setup_command(
    s3: Annotated[
        bool, typer.Option("--s3", help="Also the jars for a store on S3 (13 MB, by Maven).")
    ] = False,
) -> int:
    """Make the class-data archives, with which Spark drivers start in half the time; with --s3
    fetch the S3A jars first. All of it lies in FORERUN_HOME; what is there and fits stays."""
    from forerun.include.machine.class_data import dump_archives
    from forerun.include.machine.s3a_jars import fetch_jars

    if s3:
        fetch_jars(console.notes().print)
    dump_archives(console.notes().print)
    return 0
