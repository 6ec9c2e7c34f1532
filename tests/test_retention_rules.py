"""How long history is kept: the group's word before the job's, the job's before the usual."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.jobs import job
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.defaults import Keeping
from cronograph.jobs.registry import Registry

NOW = datetime(2030, 5, 17, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SECONDS = 86400.0
KEPT = Keeping(NOW, 30 * DAY, {"audit": 90 * SECONDS, "noise": SECONDS}, {"short": 7 * SECONDS, "long": 365 * SECONDS})


@pytest.mark.parametrize(
    ("job", "group", "days"),
    [
        ("other", "default", 30),
        ("noise", "default", 1),
        ("audit", "default", 90),
        ("other", "short", 7),
        ("audit", "short", 7),
        ("noise", "long", 365),
        ("noise", None, 1),
    ],
)
def test_the_group_says_it_or_else_the_job(job: str, group: str | None, days: int) -> None:
    assert KEPT.of(job, group) == days * DAY
    assert not KEPT.is_over(job, group, NOW - days * DAY)
    assert KEPT.is_over(job, group, NOW - days * DAY - timedelta(microseconds=1))


def test_what_is_shorter_is_looked_for_apart_and_what_is_longer_is_known() -> None:
    assert KEPT.shorter == [7 * DAY, DAY]
    assert KEPT.has_longer
    assert not Keeping(NOW, 30 * DAY, {"noise": SECONDS}).has_longer
    assert Keeping(NOW, 30 * DAY).shorter == []


def test_the_digest_differs_when_something_else_is_said() -> None:
    said = [Keeping(NOW, DAY), Keeping(NOW, DAY, {"a": 1.0}), Keeping(NOW, DAY, {}, {"a": 1.0}), KEPT]
    assert len({one.digest for one in said}) == len(said)
    assert Keeping(NOW + DAY, 9 * DAY, {"a": 1.0}).digest == said[1].digest


@pytest.mark.parametrize(
    ("keep", "seconds"), [(90, 90.0), ("7d", 7 * SECONDS), (timedelta(hours=12), 43200.0), (None, None)]
)
def test_a_job_says_how_long_its_history_is_kept(keep: float | str | timedelta | None, seconds: float | None) -> None:
    registry = Registry()

    @job(registry=registry, keep=keep)
    async def noise() -> None: ...

    assert noise.definition.policies.defaults.keep == seconds


@pytest.mark.parametrize("keep", [0, -5, True, "soon", 10**12, [1]])
def test_what_is_no_time_is_refused(keep: Any) -> None:
    async def noise() -> None: ...

    with pytest.raises(ConfigurationError, match="keep: must be"):
        job(registry=Registry(), keep=keep)(noise)
