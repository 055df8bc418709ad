"""Every key of the store, in one place (the layout is drawn in ARCHITECTURE.md).

::

    sources/<source>/<day>/pins/<n>.json
    sources/<source>/<day>/kept/<report>-<generation>-run-<i>.json
    spools/<source>/<digest>.json
    spools/<source>/<digest>/<n>-<token>.parquet
    reports/<report>/claim.json
    reports/<report>/<day>/<generation>/generation.json
    reports/<report>/<day>/<generation>/inherited.json
    reports/<report>/<day>/<generation>/schedule/<n>.json
    reports/<report>/<day>/<generation>/manifests/run-<i>.json
    reports/<report>/<day>/<generation>/plans/run-<i>-<attempt>.json
    reports/<report>/<day>/<generation>/plans/lifted-<token>.json
    reports/<report>/<day>/<generation>/artifacts/<family>/<i>-<attempt>/
    reports/<report>/<day>/<generation>/stages/run-<i>/<stage>.json
    reports/<report>/<day>/<generation>/checks/run-<i>-<attempt>/
    reports/<report>/<day>/<generation>/diffs/run-<i>-<attempt>.parquet
    reports/<report>/<day>/<generation>/commits/run-<i>.json
    reports/<report>/<day>/<generation>/given-up/run-<i>.json
    reports/<report>/<day>/<generation>/instructions/<n>.json
    reports/<report>/<day>/<generation>/failures/<task>.json
    reports/<report>/<day>/failure.json
    results/<report>/<day>/<version>/
    results/<report>/<day>/pointer.json
    history/<report>/<day>-<generation>-run-<i>.json
    fences/<report>/<day>.json
    specs/<report>/<digest>.json
    prices/spark.json
    clusters/<cluster>/cluster.json
    clusters/<cluster>/stop.json
    clusters/<cluster>/slots.json
    clusters/<cluster>/wanted/<token>.json
    clusters/<cluster>/reports/<report>.json
    index/savings/<report>.json
    verdicts/<question>/<judge>.json
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from forerun.planner.errors import ForerunError

RESULT_FAMILY = "result"
SPOOLS_FOLDER = "spools"
"""Has a folder for each source of which rows were copied."""
HISTORY = "history"
"""The folder of the ledger, which has one folder per report."""
PRICES_KEY = "prices/spark.json"
"""The prices that were fitted to the runs of the store, if any were."""
_SAFE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._=+:@-]{0,199}\Z")
_ENTRY = re.compile(r"/([^/]+)-(\d+)-run-(\d+)\.json\Z")
_NUMBERED = re.compile(r"(?:^|/)(?:run-)?(\d+)\.json\Z", re.ASCII)


class KeyNameError(ForerunError):
    """A name that cannot be a part of a key."""

    code = "name"


def part(name: str, what: str) -> str:
    """``name``, if it can be one part of a key. Raises for slashes, spaces, leading dots."""
    if not _SAFE.match(name):
        raise KeyNameError(
            f"{name!r} cannot name a {what}",
            hint="Use letters, digits and . _ = + : @ -, starting with a letter or digit.",
        )
    return name


def source_id(name: str, path: str, file_format: str) -> str:
    """The folder of a source: its name, and a hash of where it lies.

    Reports that give one name to two different folders must not share pins; those that mean the
    same folder do.
    """
    digest = hashlib.sha256(f"{path}\0{file_format}".encode()).hexdigest()[:8]
    return f"{part(name, 'source')}-{digest}"


def pins_folder(source: str, day: str) -> str:
    return f"sources/{part(source, 'source')}/{part(day, 'day')}/pins"


def pin_key(source: str, day: str, number: int) -> str:
    return f"{pins_folder(source, day)}/{number}.json"


def spool_folder(source: str) -> str:
    """The folder of what was copied of a source, since no engine reads it where it is."""
    return f"{SPOOLS_FOLDER}/{part(source, 'source')}"


def spool_key(source: str, digest: str) -> str:
    """The key of the record that says which files hold rows of this digest."""
    return f"{spool_folder(source)}/{part(digest, 'digest')}.json"


def spooled_file_key(source: str, digest: str, number: int, token: str) -> str:
    """The key of a file of an attempt to copy these rows."""
    name = f"{number}-{part(token, 'attempt')}.parquet"
    return f"{spool_folder(source)}/{part(digest, 'digest')}/{name}"


def digest_of_spooled(uri: str) -> str:
    """The digest of the rows that a file, or a record, of a spool is for; it is in every key."""
    folder, _, name = uri.rpartition("/")
    return name.removesuffix(".json") if name.endswith(".json") else folder.rpartition("/")[2]


def source_of_pin(key: str) -> str:
    """The folder of the source that a pin is of."""
    return key.split("/")[1]


def notes_folder(source: str, day: str) -> str:
    """Return the folder in which former versions noted which report keeps what of a source.
    Clean-up deletes such notes; nothing else reads them."""
    return f"sources/{part(source, 'source')}/{part(day, 'day')}/kept"


def numbers(keys: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers of ``<n>.json`` and ``run-<n>.json`` keys, ascending; others are passed over."""
    return tuple(sorted(int(m[1]) for key in keys if (m := _NUMBERED.search(key))))


def report_folder(report: str) -> str:
    """Return the folder that has a folder for each day of a report."""
    return f"reports/{part(report, 'report')}"


def day_folder(report: str, day: str) -> str:
    return f"{report_folder(report)}/{part(day, 'day')}"


def day_failure_key(report: str, day: str) -> str:
    """Return the key of the record that says why a day could not be opened."""
    return f"{day_folder(report, day)}/failure.json"


def claim_key(report: str) -> str:
    """Return the key of the record that says who may use the report's name in this store. Clean-up
    leaves it."""
    return f"{report_folder(report)}/claim.json"


@dataclass(frozen=True, slots=True)
class Generation:
    """The keys of one generation of a day."""

    report: str
    day: str
    generation: str

    @property
    def number(self) -> int:
        """The generation as a number: generations of a day are ordered by it."""
        if not self.generation.isascii() or not self.generation.isdigit():
            raise KeyNameError(
                f"{self.generation!r} is not the number of a generation",
                hint="Pass the generation that opening the day has returned.",
            )
        return int(self.generation)

    @property
    def folder(self) -> str:
        return f"{day_folder(self.report, self.day)}/{part(self.generation, 'generation')}"

    @property
    def record(self) -> str:
        return f"{self.folder}/generation.json"

    @property
    def inherited(self) -> str:
        return f"{self.folder}/inherited.json"

    def schedule(self, number: int) -> str:
        return f"{self.schedules}/{number}.json"

    @property
    def schedules(self) -> str:
        return f"{self.folder}/schedule"

    def manifest(self, run: int) -> str:
        return f"{self.folder}/manifests/run-{run}.json"

    def plan(self, run: int, attempt: str) -> str:
        return f"{self.plans}/run-{run}-{part(attempt, 'attempt')}.json"

    def lifted(self, token: str) -> str:
        """The query that computes this day, as the first one, and others at once."""
        return f"{self.plans}/lifted-{part(token, 'attempt')}.json"

    @property
    def plans(self) -> str:
        return f"{self.folder}/plans"

    def artifact(self, family: str, run: int, attempt: str) -> str:
        """The folder of one attempt at a family's partition; the result is a family too."""
        return f"{self.folder}/artifacts/{part(family, 'family')}/{run}-{part(attempt, 'attempt')}"

    @property
    def artifacts(self) -> str:
        return f"{self.folder}/artifacts"

    def stage(self, run: int, stage: str) -> str:
        return f"{self.folder}/stages/run-{run}/{part(stage, 'stage')}.json"

    def checks(self, run: int, attempt: str) -> str:
        """The folder of the expectation results of one attempt."""
        return f"{self.folder}/checks/run-{run}-{part(attempt, 'attempt')}"

    def diff(self, run: int, attempt: str) -> str:
        """Return the key of the rows that a repair changes in the published result."""
        return f"{self.folder}/diffs/run-{run}-{part(attempt, 'attempt')}.parquet"

    def commit(self, run: int) -> str:
        return f"{self.folder}/commits/run-{run}.json"

    @property
    def commits(self) -> str:
        return f"{self.folder}/commits"

    def given_up(self, run: int) -> str:
        return f"{self.gave_up}/run-{run}.json"

    @property
    def gave_up(self) -> str:
        """The folder of what is known of runs that stopped themselves."""
        return f"{self.folder}/given-up"

    def instruction(self, number: int) -> str:
        return f"{self.instructions}/{number}.json"

    @property
    def instructions(self) -> str:
        return f"{self.folder}/instructions"

    def failure(self, task: str) -> str:
        return f"{self.failures}/{part(task, 'task')}.json"

    @property
    def failures(self) -> str:
        """The folder of the errors of tasks that have failed for good."""
        return f"{self.folder}/failures"


def generation_of(key: str) -> Generation:
    """The generation that a key ``reports/<report>/<day>/<generation>/...`` belongs to."""
    parts = key.split("/")
    if len(parts) < 5 or parts[0] != "reports":
        raise KeyNameError(
            f"{key!r} does not lie in a generation", hint="Pass the URI that planning returned."
        )
    return Generation(parts[1], parts[2], parts[3])


def report_results_folder(report: str) -> str:
    """Return the folder that has a folder for each day of which a report has a result."""
    return f"results/{part(report, 'report')}"


def results_folder(report: str, day: str) -> str:
    return f"{report_results_folder(report)}/{part(day, 'day')}"


def version_folder(report: str, day: str, version: str) -> str:
    return f"{results_folder(report, day)}/{part(version, 'version')}"


def pointer_key(report: str, day: str) -> str:
    return f"{results_folder(report, day)}/pointer.json"


def history_folder(report: str) -> str:
    return f"{HISTORY}/{part(report, 'report')}"


def history_key(at: Generation, run: int) -> str:
    return f"{history_folder(at.report)}/{at.day}-{at.generation}-run-{run}.json"


def history_order(key: str) -> tuple[str, int, int, str]:
    """Return the sort key of a ledger entry, oldest first: day, generation and run as numbers. Keys
    of other files sort first."""
    found = _ENTRY.search(key)
    return (found[1], int(found[2]), int(found[3]), key) if found else ("", 0, 0, key)


def shadow_folder(report: str) -> str:
    """The folder of the days on which a report in shadow was compared."""
    return f"shadow/{part(report, 'report')}"


def shadow_key(report: str, day: str) -> str:
    return f"{shadow_folder(report)}/{part(day, 'day')}.json"


def fence_key(report: str, day: str) -> str:
    """Return the key of the record that says which generations of a day clean-up has closed. It
    lies apart from what clean-up deletes, and is itself never deleted."""
    return f"fences/{part(report, 'report')}/{part(day, 'day')}.json"


SPECS_FOLDER = "specs"
"""Has a folder for each report that a DAG runs."""


def spec_key(report: str, digest: str) -> str:
    """Return the key of a report's spec as it once was. Clean-up leaves it: it is small, and says
    what the days were that it was used for."""
    return f"{SPECS_FOLDER}/{part(report, 'report')}/{part(digest, 'digest')}.json"


def savings_index_key(report: str) -> str:
    """Return the key of what a report's ledger says in short, for pages. It may be deleted: it is
    made again from the ledger."""
    return f"index/savings/{part(report, 'report')}.json"


def verdicts_folder(question: str) -> str:
    """Return the folder of what versions of Spark have said about one text and its reading.
    Clean-up leaves it: it is small, and is asked for again as long as the text is run."""
    return f"verdicts/{part(question, 'question')}"


def verdict_key(question: str, judge: str) -> str:
    """Return the key of what one version of Spark has said, under one set of settings."""
    return f"{verdicts_folder(question)}/{part(judge, 'judge')}.json"


CLUSTERS_FOLDER = "clusters"
"""Has a folder for each cluster that a DAG of the store has named."""


@dataclass(frozen=True, slots=True)
class ClusterKeys:
    """The keys of a cluster. Clean-up leaves them: they are small."""

    cluster: str

    @property
    def folder(self) -> str:
        return f"{CLUSTERS_FOLDER}/{part(self.cluster, 'cluster')}"

    @property
    def declared(self) -> str:
        """The cluster as it was declared last."""
        return f"{self.folder}/cluster.json"

    @property
    def stop(self) -> str:
        return f"{self.folder}/stop.json"

    @property
    def slots(self) -> str:
        """Return the key of the record that says who holds cores now."""
        return f"{self.folder}/slots.json"

    @property
    def wanted(self) -> str:
        """The folder of who wants cores, or has them."""
        return f"{self.folder}/wanted"

    def request(self, token: str) -> str:
        return f"{self.wanted}/{part(token, 'token')}.json"

    @property
    def reports(self) -> str:
        """The folder of the reports that name the cluster."""
        return f"{self.folder}/reports"

    def report(self, report: str) -> str:
        """Return the key of when a report that names the cluster wants cores."""
        return f"{self.reports}/{part(report, 'report')}.json"


def clock_key(token: str) -> str:
    """A file that is put to learn what the time is by the store's own clock."""
    return f"probe/clock-{part(token, 'token')}.json"


PROBE_KEY = "probe/conditional-put.json"
