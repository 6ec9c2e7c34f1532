"""Attempts at more than a role may do: into the audit log, however often they are made at most once a minute each."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...graphql.base.errors import UserFacingError
from ...graphql.resolving.context import Context
from ...jobs.actions.acting import acting
from ...jobs.store.db.faults import log_fault
from ...jobs.store.db.transaction import Tx

log = logging.getLogger("cronograph.sign_in")

EVERY: Final = 60.0
"""Seconds between two entries of one account about one field: refusals cost nothing, and entries stay for a year."""
MOST: Final = 10_000
"""Pairs of account and field that are remembered."""


@dataclass(slots=True)
class _Noted:
    at: float
    since: int = 0


class Refusals:
    """Writes them down.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted: OrderedDict[tuple[str, object], _Noted] = OrderedDict()

    async def __call__(self, context: object, refusal: UserFacingError) -> None:
        """Keep one. A database that is unavailable does not keep the refusal from being answered."""
        about = refusal.extensions or {}
        if not isinstance(context, Context) or "requiredRole" not in about:
            return
        attempts = self._attempts(context.person.name, about["field"])
        if not attempts:
            return
        try:
            await context.database.write(acting, context.person.actor, _record, {**about, "attempts": attempts})
        except Exception as error:  # noqa: BLE001 - logged; the refusal itself is to be answered
            log_fault(log, f"a refusal of '{about['field']}' could not be written down", error)

    def _attempts(self, name: str, field: object) -> int:
        """Return how many attempts the next entry stands for; 0 = none is to be written yet."""
        now = self._clock()
        noted = self._noted.setdefault((name, field), _Noted(-EVERY + now))
        noted.since += 1
        if now - noted.at < EVERY:
            return 0
        attempts, noted.at, noted.since = noted.since, now, 0
        self._noted.move_to_end((name, field))
        while len(self._noted) > MOST:
            self._noted.popitem(last=False)
        return attempts


def _record(tx: Tx, about: dict[str, object]) -> None:
    after = {name: about[name] for name in ("requiredRole", "role", "attempts")}
    tx.record("request.refused", str(about["field"]), after=after)
