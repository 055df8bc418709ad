"""Executor CPU time by stage from a running application itself.

For clusters whose event log does not lie on the driver's disk. Spark's own status store keeps these
figures also without a UI, but has no public way in from Python.
"""

from __future__ import annotations

from include.eventlog import ApplicationUse, StageUse
from spark_jobs.engine import Session


def used_by_group(session: Session) -> ApplicationUse:
    """CPU seconds and shuffled bytes by job group, which is the stage that a job was run for.

    Scans are not there: the store knows the metrics of SQL by name and not by what was scanned.
    """
    context = session.sparkContext
    store, gateway = context._jsc.sc().statusStore(), context._gateway  # noqa: SLF001
    of_stage = {}
    jobs = store.jobsList(None)
    for i in range(jobs.size()):
        group, stages = jobs.apply(i).jobGroup(), jobs.apply(i).stageIds()
        for j in range(stages.size()):
            of_stage[stages.apply(j)] = group.get() if group.isDefined() else ""
    no_quantiles = gateway.new_array(gateway.jvm.double, 0)
    stages = store.stageList(None, False, False, no_quantiles, gateway.jvm.java.util.ArrayList())
    cpu: dict[str, float] = {}
    shuffled: dict[str, int] = {}
    for i in range(stages.size()):
        stage = stages.apply(i)
        group = of_stage.get(stage.stageId(), "")
        cpu[group] = cpu.get(group, 0.0) + stage.executorCpuTime() / 1e9
        shuffled[group] = shuffled.get(group, 0) + stage.shuffleWriteBytes()
    return ApplicationUse(
        tuple(StageUse(group, cpu[group], 0, 0, 0, shuffled[group], ()) for group in sorted(cpu))
    )
