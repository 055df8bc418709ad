"""A headless Chromium, by its DevTools protocol: what a page shows, and what it complains of.

Only what the tests need: go somewhere, wait for a text, run an expression, press a key.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_PATIENCE = 60.0


class Browser:
    """One tab. ``complaints`` has the errors of its console and the requests that failed."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="forerun-chromium-"))
        self._process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                "--window-size=1366,900",
                f"--user-data-dir={self._home}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._home)},
        )
        self._opened = ExitStack()
        # No pings: a test may look at the server alone for longer than they are waited for.
        opened = connect(self._address(), max_size=None, ping_interval=None)
        self._socket = self._opened.enter_context(opened)
        self._number = 0
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def _address(self) -> str:
        """Where the tab listens; Chromium writes its port into its home."""
        deadline = time.monotonic() + _PATIENCE
        told = self._home / "DevToolsActivePort"
        while time.monotonic() < deadline:
            if told.exists() and (lines := told.read_text().split()):
                with urlopen(f"http://127.0.0.1:{lines[0]}/json", timeout=5) as answer:
                    pages = [tab for tab in json.load(answer) if tab["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.1)
        raise AssertionError("Chromium did not start")

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self._socket.recv(timeout=_PATIENCE))
            if said.get("id") == number:
                assert "error" not in said, said
                return dict(said["result"])
            self._hear(said)

    def _hear(self, said: dict[str, Any]) -> None:
        about = said.get("params", {})
        if said["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        if said["method"] == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        if said["method"] == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.complaints.append(str(about["args"]))

    def cookie(self, url: str, name: str, value: str) -> None:
        self._ask("Network.setCookie", url=url, name=name, value=value, httpOnly=True)

    def dark(self) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark"}
        self._ask("Emulation.setEmulatedMedia", features=[feature])

    def size(self, width: int, height: int) -> None:
        """Let the window have so many pixels."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def picture(self, path: Path) -> None:
        """Write what the window shows to a PNG file."""
        found = self._ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def go(self, url: str) -> None:
        self._ask("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Wait until an expression holds, and return it."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if value := self.evaluate(expression):
                return value
            time.sleep(0.2)
        shown = self.evaluate("document.body ? document.body.innerText : ''")
        raise AssertionError(f"{expression} never held; the page shows:\n{str(shown)[:2000]}")

    def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13, "ArrowRight": 39}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def end(self) -> None:
        self._opened.close()
        self._process.terminate()
        self._process.wait(20)
        shutil.rmtree(self._home, ignore_errors=True)
