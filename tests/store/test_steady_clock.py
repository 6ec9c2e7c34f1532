"""On SQLite the time that decides what is due does not go back when the machine's clock does."""

from datetime import UTC, datetime, timedelta

from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.dialect import SteadyClock
from tests.support.storage import Stored

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Machine:
    """A machine's two clocks."""

    def __init__(self) -> None:
        self.wall, self.monotonic = NOON, 0.0
        self.clock = SteadyClock(lambda: self.wall, lambda: self.monotonic)

    def let_pass(self, seconds: float) -> datetime:
        """The steady time after so many seconds."""
        self.monotonic += seconds
        self.wall += timedelta(seconds=seconds)
        return self.clock.now()

    def set(self, seconds: float) -> datetime:
        """The steady time right after somebody has set the time of day."""
        self.wall += timedelta(seconds=seconds)
        return self.clock.now()


def test_it_is_the_time_of_day_as_long_as_nobody_sets_that_back() -> None:
    machine = Machine()
    assert machine.let_pass(10) == NOON + timedelta(seconds=10)
    assert machine.set(3600) == NOON + timedelta(seconds=3610)


def test_after_it_was_set_back_it_goes_on_more_slowly_until_the_machine_has_caught_up() -> None:
    machine = Machine()
    assert machine.set(-3600) == NOON
    assert machine.let_pass(100) == NOON + timedelta(seconds=90)
    assert machine.let_pass(35_800) == NOON + timedelta(seconds=90 + 0.9 * 35_800)
    assert machine.wall < machine.clock.now()
    assert machine.let_pass(1_000) == machine.wall


def test_a_clock_that_was_wrong_by_more_than_a_day_is_followed() -> None:
    machine = Machine()
    machine.set(400 * 86_400)
    assert machine.set(-400 * 86_400) == NOON


def test_a_task_of_every_ten_seconds_goes_on_though_the_clock_was_set_back_by_an_hour(sqlite_url: str) -> None:
    machine, stored = Machine(), Stored(sqlite_url)
    stored.close()
    stored.database = Database(sqlite_url, clock=machine.clock.now)
    stored.node()
    stored.task("10s", Syntax.INTERVAL)
    machine.let_pass(11)
    assert stored.dispatch() == 1
    machine.set(-3600)
    machine.let_pass(12)
    assert stored.dispatch() == 1
    stored.close()
