"""``python -m tests.e2e.pictures FOLDER``: the pictures of the docs, taken by a real browser of the
pages as they are now over a made-up night."""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import uvicorn

from tests.benchmarks.stored_nights import make_nights, names, served, without_flushing
from tests.e2e.browser import Browser

TONIGHT = date(2026, 3, 14)
NOW = datetime(2026, 3, 15, 3, 10, tzinfo=UTC)
REPORTS, DAYS = 12, 30
WIDE, NARROW = (1440, 900), (1024, 768)


@contextmanager
def made_up_night(folder: Path, reports: int = REPORTS, days: int = DAYS) -> Iterator[str]:
    """The address of the pages over a made-up night, while the block lasts."""
    without_flushing()
    if not (folder / "store").exists():
        make_nights(folder, reports, days, TONIGHT)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(served(folder, NOW), port=port, log_level="error", root_path="")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def pages(reports: int = REPORTS) -> dict[str, str]:
    """The pages that have pictures, by the name of the picture."""
    name = next(name for name, *_ in names(reports) if name.endswith("clicks_by_segment"))
    day = f"/days/{name}/{TONIGHT}"
    return {
        "tonight": "/",
        "day-page": day,
        "plan-page": f"{day}/plan",
        "savings-page": "/savings",
        "schedule-page": "/schedule",
        "report-page": f"/reports/{name}",
        "state-page": "/state",
        "arrivals-page": f"{day}/sources/clicks",
        "sources-page": "/arrivals",
    }


def shown(browser: Browser, url: str) -> None:
    """Go to a page, and wait until it is there; what is read in the background comes later."""
    for _ in range(50):
        browser.go(url)
        browser.wait_for("document.readyState === 'complete' && !!document.querySelector('main')")
        if not browser.evaluate("document.body.innerText.includes('has not answered within')"):
            return
        time.sleep(0.2)


def main(folder: Path, size: tuple[int, int] = WIDE) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="shop-", dir="/tmp") as home,
        made_up_night(Path(home)) as url,
    ):
        browser = Browser()
        try:
            browser.size(*size)
            for name, path in pages().items():
                shown(browser, url + path)
                browser.picture(folder / f"{name}.png")
        finally:
            browser.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
