"""The name in which an action runs and runs are submitted, and its rights."""

from collections.abc import Callable, Iterable
from typing import Concatenate, Final, ParamSpec, TypeVar

from ..core.actor import Actor
from ..core.base.errors import ErrorCode, UserError
from ..store.db.transaction import Tx

P = ParamSpec("P")
T = TypeVar("T")


def acting(tx: Tx, actor: Actor, action: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``action`` in the name of ``actor``: its records go into the audit log under that name."""
    tx.actor = actor
    return action(tx, *args, **kwargs)


ACTS_FOR_ITS_SUBMITTER: Final = "graphql_request"
"""The job that acts by its arguments with the rights of an account."""


def account_of(tx: Tx) -> int | None:
    """Return the account in whose name the transaction is; None for an actor without one."""
    return None if tx.actor is None else tx.actor.account_id


def may_submit(actor: Actor | None, job_names: Iterable[str]) -> bool:
    """Return whether somebody may have these jobs act for him; see ``check_submitter``."""
    return actor is None or actor.full_rights or ACTS_FOR_ITS_SUBMITTER not in job_names


def check_submitter(tx: Tx, job_names: Iterable[str]) -> None:
    """Check that a token of a lower role than its account's does not get the account's rights through a job.

    Raises:
        UserError: code ``FORBIDDEN``.
    """
    if tx.actor is not None and not may_submit(tx.actor, job_names):
        raise UserError(
            f"job '{ACTS_FOR_ITS_SUBMITTER}' runs with all rights of the account '{tx.actor.name}', and the token has "
            f"only the role {tx.actor.role.value}; use a token of the account's own role",
            code=ErrorCode.FORBIDDEN,
        )
