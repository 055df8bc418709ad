"""Find out why an application has ended, from the lines that it wrote: the last thing that a log
says.

The job ends with ``error: <code>: <message>`` and a hint below; a JVM that was killed says nothing.
"""

from __future__ import annotations

import re
import signal
from collections import deque
from collections.abc import Iterator

_ERROR = re.compile(r"(?:^|\s)error: ([a-z][a-z-]*): (.*)\Z")
_CODE = re.compile(r"Error code is: (-?\d+)")
_KEPT = 12
_BY_SIGNAL = 128
"""A shell says of a process that a signal has ended this and the signal's number."""


class LastWords:
    """Hears what an application says, and tells why it failed."""

    def __init__(self) -> None:
        self._error: list[str] = []
        self._open = False
        self._tail: deque[str] = deque(maxlen=_KEPT)

    def listen(self, lines: Iterator[str]) -> Iterator[str]:
        """Pass lines on, and remember the last error and the end."""
        for line in lines:
            self.hear(line)
            yield line

    def hear(self, line: str) -> None:
        text = line.rstrip()
        if found := _ERROR.search(text):
            self._error, self._open = [f"[{found[1]}] {found[2]}"], True
        elif self._open and text.startswith("  "):
            self._error.append(text)
        else:
            self._open = False
        if text:
            self._tail.append(text)

    def why(self, said: str) -> str:
        """Return why it failed. ``said`` is what submitting it raised, with its exit code; it is
        part of the answer only where the application itself gave no reason."""
        if self._error:
            return "\n".join(self._error)
        found = _CODE.search(said)
        code = int(found[1]) if found else 0
        number = -code if code < 0 else code - _BY_SIGNAL
        if code and number in _BY:
            name, hint = signal.Signals(number).name, _BY[number]
            return f"[killed] the application was ended by signal {number} ({name})\n  hint: {hint}"
        tail = "\n  ".join(self._tail)
        return f"[run-failed] the application ended with {code} and gave no reason:\n  {tail}"


_BY: dict[int, str] = {
    signal.SIGKILL: "The machine may have been out of memory, or somebody has killed it. It is "
    "tried again; if that repeats, give the driver more memory or the machine fewer tasks.",
    signal.SIGTERM: "Somebody, or the machine when it was shut down, has ended it. It is tried "
    "again.",
}
