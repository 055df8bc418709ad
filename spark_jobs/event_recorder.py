"""An event log of Forerun's own, on the driver's disk, beside whatever log the deployment keeps.

The figures of a run are read from Spark's events while the run goes on. The deployment's log is no
source for that: it may be switched off, compressed, split, or lie in an object store or on another
machine. So the driver attaches a second listener, of Spark's own class, that writes plain JSON
into a folder which only this process reads. No setting of the deployment is changed for it, and no
disk is shared with executors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forerun.include.machine.eventlog import ApplicationUse, EventLogReader

_QUEUE = "forerun"
"""A listener queue of its own, so that it never slows down or drops events of Spark's queues."""
_PLAIN = (
    ("spark.eventLog.compress", "false"),
    ("spark.eventLog.rolling.enabled", "false"),
    ("spark.eventLog.overwrite", "true"),
)


class EventRecorder:
    """Records the events of an application from now on and adds up what they say.

    ``context`` is a running ``SparkContext``, ``folder`` an empty folder of the driver's disk.
    Neither the listener nor its queue has a public way in from Python, hence the JVM's objects.
    """

    def __init__(self, context: Any, folder: Path) -> None:
        jvm, scala_context = context._jvm, context._jsc.sc()  # noqa: SLF001
        conf = scala_context.conf().clone()
        for key, value in _PLAIN:
            conf.set(key, value)
        no_attempt = getattr(jvm.scala, "Option").empty()  # noqa: B009 - a class of the JVM
        self._listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
            context.applicationId, no_attempt, jvm.java.net.URI(folder.as_uri()), conf
        )
        self._listener.start()
        self._bus = scala_context.listenerBus()
        self._bus.addToQueue(self._listener, _QUEUE)
        self._reader = EventLogReader(folder / f"{context.applicationId}.inprogress")

    def used(self) -> ApplicationUse:
        """Return what the application has used up to now, by stage."""
        self._bus.waitUntilEmpty()
        return self._reader.read()

    def stop(self) -> None:
        """Detach the listener and close its file."""
        self._bus.removeListener(self._listener)
        self._listener.stop()
