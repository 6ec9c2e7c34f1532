"""What the process offers to jobs beyond their arguments; the built-in jobs use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..accounts.rules.sealing import KeySource, no_keys
from ..core.counts import NodeCounts
from .api_caller import ApiCaller

if TYPE_CHECKING:
    from ..store.db.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the process that a job may use.

    Attributes:
        database: This server's own database.
        api: This server's own API; None on a process that has none.
        http_allow: What ``http_request`` may reach besides public addresses: addresses, networks, host names, or ``*``.
        keys: Those that secrets are encrypted with.
        counts: What the node counts for its monitoring.
        public_url: Under which address people reach this server; None = it is not known.
        resources: What the node has opened for its jobs, by what it gives.
    """

    database: "Database"
    api: ApiCaller | None = None
    http_allow: tuple[str, ...] = ()
    keys: KeySource = no_keys
    counts: NodeCounts = field(default_factory=NodeCounts)
    public_url: str | None = None
    resources: Mapping[Any, object] = field(default_factory=dict[Any, object])
