"""What the process offers to jobs beyond their arguments; the built-in jobs use it."""

from dataclasses import dataclass

from .api_caller import ApiCaller
from .core.sealing import KeySource, no_keys
from .store.db.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the process that a job may use.

    Attributes:
        database: This server's own database.
        api: This server's own API; None on a process that has none.
        http_allow: What ``http_request`` may reach besides public addresses: addresses, networks, host names, or ``*``.
        keys: Those that secrets are encrypted with.
    """

    database: Database
    api: ApiCaller | None = None
    http_allow: tuple[str, ...] = ()
    keys: KeySource = no_keys
