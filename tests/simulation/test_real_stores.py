"""The same schedules on a real folder and real S3 servers, a sample of them: the simulated store
is not kinder than they are."""

from __future__ import annotations

import pytest

from forerun.include.stores import open_store
from tests.simulation import doors
from tests.simulation.machine import play
from tests.simulation.real_bucket import RealBucket
from tests.simulation.shrink import describe

FEW = (10, 29, 146)
MANY = (1, 17, 32, 98, 191, 232, 353, 371)


def _play_on(uri: str, seed: int) -> None:
    real = open_store(f"{uri}/seed-{seed}")
    with doors.installed(real_codec=True):
        played = play(seed, bucket_of=lambda world: RealBucket(world, real=real))
    if played.violation:
        pytest.fail(describe(played), pytrace=False)


@pytest.mark.parametrize("seed", FEW)
def test_a_few_schedules_on_a_folder(tmp_path, seed):
    _play_on((tmp_path / "store").as_uri(), seed)


@pytest.mark.s3
def test_a_schedule_on_an_s3_server(moto_bucket):
    _play_on(moto_bucket, 163)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_schedules_on_every_store(store_uri, seed):
    _play_on(store_uri, seed)
