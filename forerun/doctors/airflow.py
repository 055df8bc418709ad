"""``forerun doctor --airflow``: whether Airflow gives runs of backfills the pools that DAGs name,
and whether its triggerer can call whom DAGs name to be told of missed deadlines.

Airflow itself says nothing: in a pool that is not there a task waits for ever, and without the
policy it takes the slots of tonight's reports; a function that the triggerer cannot import is a
line in the triggerer's log when the deadline has passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from forerun.doctors.findings import DoctorFinding
from forerun.doctors.told import examine_told

_NAME = "backfill-pool"
_NO_POLICY = (
    "Install forerun in the scheduler's and the API server's environment (its entry point "
    "airflow.policy is the policy), and start both anew."
)


def examine_airflow() -> tuple[DoctorFinding, ...]:
    """Look at every DAG that Airflow's database has, by the settings of this process: it has to be
    the scheduler's machine and environment."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        wanted, there = _read()
    except SQLAlchemyError as error:
        found = f"Airflow's database does not answer: {str(error).splitlines()[0]}"
        todo = "Run `airflow db check`, with the AIRFLOW_HOME of the scheduler."
        return (DoctorFinding(name=_NAME, state="problem", found=found, todo=todo),)
    named = ", ".join(sorted({pool for _, pool, _ in wanted})) or "no DAG names one"
    pools = tuple(_judged(wanted, there)) or (DoctorFinding(name=_NAME, state="ok", found=named),)
    return (*pools, *examine_told())


def _judged(wanted: set[tuple[str, str, bool]], there: set[str]) -> Iterator[DoctorFinding]:
    for dag_id, pool, given in sorted(wanted):
        if pool not in there:
            found = f"{dag_id} names {pool}, and there is no such pool: its backfills would wait"
            todo = f"Create it: `airflow pools set {pool} 2 backfills`."
            yield DoctorFinding(name=_NAME, state="problem", found=found, todo=todo)
        if not given:
            found = f"{dag_id} names {pool}, and Airflow has no policy that gives it to backfills"
            yield DoctorFinding(name=_NAME, state="problem", found=found, todo=_NO_POLICY)


def _read() -> tuple[set[tuple[str, str, bool]], set[str]]:
    """Return which DAG names which pool, and whether a task instance of a backfill takes it; and
    the pools that there are."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbag import DBDagBag
    from airflow.models.pool import Pool
    from airflow.models.taskinstance import TaskInstance
    from airflow.settings import task_instance_mutation_hook
    from airflow.utils.session import create_session
    from sqlalchemy import select

    wanted = set()
    # With this mark Airflow makes task instances without asking, whatever policy there is.
    asked = not getattr(task_instance_mutation_hook, "is_noop", False)
    bag = DBDagBag(load_op_links=False)
    with create_session() as session:
        there = {str(pool.pool) for pool in Pool.get_pools(session=session)}
        for dag_id in session.scalars(select(DagModel.dag_id).where(~DagModel.is_stale)).all():
            dag = bag.get_latest_version_of_dag(dag_id, session=session)
            for task in dag.tasks if dag else ():
                if pool := getattr(task, "backfill_pool", ""):
                    made = TaskInstance(task, dag_version_id=None, run_id="backfill__doctor")
                    wanted.add((dag_id, pool, asked and made.pool == pool))
    return wanted, there
