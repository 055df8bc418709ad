"""What every run must have, from what its manifest and pins name and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from forerun.include.state.layout import Generation
from forerun.include.state.records import Manifest, Pin, PinnedFile
from tests.simulation.engine import Rows, rows_of, total
from tests.simulation.store import Bucket, is_data, key_of


@dataclass
class Oracle:
    """Remembers what was ever put: files of sources by key and identity, pins and manifests."""

    bucket: Bucket
    delivered: dict[tuple[str, str], Rows] = field(default_factory=dict)
    pins: dict[str, Pin] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)

    def manifest(self, at: Generation, run: int) -> Manifest | None:
        return self.manifests.get(at.manifest(run))

    def result(self, at: Generation, run: int) -> Rows | None:
        """The report over what run ``run`` pinned; None if it never was."""
        manifest = self.manifest(at, run)
        return None if manifest is None else total(self.rows(manifest.sources[0].pin))

    def rows(self, pin: str) -> Rows:
        """The rows of the files that a pin names; "" names nothing."""
        return self._rows(self.pins[pin].files) if pin else ()

    def delta(self, manifest: Manifest) -> Rows:
        """The rows that are in the run's pin and not in that of its base, summed."""
        source = manifest.sources[0]
        before = {f.uri for f in self.pins[source.base_pin].files} if source.base_pin else set()
        return total(self._rows(f for f in self.pins[source.pin].files if f.uri not in before))

    def _rows(self, files: Iterable[PinnedFile]) -> Rows:
        found: list[tuple[int, int]] = []
        for file in files:
            found += self.delivered[(key_of(file.uri), file.identity)]
        return tuple(found)

    def now(self, folder: str) -> Rows:
        """The report over what lies in a source's folder now."""
        objects = self.bucket.objects
        found = [rows_of(objects[k].data) for k in self.bucket.below(folder) if is_data(k)]
        return total(row for rows in found for row in rows)
