"""In whose name an action runs."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from ..core.auth.accounts import Actor
from ..store.db.transaction import Tx

P = ParamSpec("P")
T = TypeVar("T")


def acting(tx: Tx, actor: Actor, action: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``action`` in the name of ``actor``: what it records goes into the audit log under that name."""
    tx.actor = actor
    return action(tx, *args, **kwargs)
