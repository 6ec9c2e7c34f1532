"""Sign-in by a provider of identities (OpenID Connect): a person's identity, and the resulting role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from ...core.actor import RANK, Role

ATTEMPT_LIFETIME: Final = timedelta(minutes=10)
"""As long as somebody may take at the provider."""
EVERYBODY: Final = "*"
"""Among the values of a role: everybody who has signed in there."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Whom a provider has seen, after all checks of its answer.

    Attributes:
        provider: The provider's key in the configuration.
        issuer: The provider's own name.
        subject: Who it is there, for ever; names and addresses may change hands.
        name: The name of an account that is made for them; None if the provider says nothing fit.
        role: The role by the provider's claims; None = the provider does not say.
        may_sign_up: Whether an account is made for whom none is known.
    """

    provider: str
    issuer: str
    subject: str
    name: str | None
    role: Role | None
    may_sign_up: bool


@dataclass(frozen=True, slots=True)
class ProviderIdentity:
    """A person at a provider, by whom an account can sign in."""

    id: int
    account_id: int
    provider: str
    issuer: str
    subject: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderAttempt:
    """A sign-in that was begun here and goes on at a provider.

    Attributes:
        next_path: Where to go afterwards, on this site.
        account_id: The account that is to be connected; None = somebody signs in.
    """

    next_path: str
    account_id: int | None


def role_of(claims: Mapping[str, object], claim: str, roles: Mapping[Role, Sequence[str]]) -> Role | None:
    """Return the highest role that a claim gives; None if it gives none.

    Args:
        claims: The provider's claims.
        claim: The name of the claim, with dots for deeper ones (``realm_access.roles``). It is a text or a list.
        roles: For each role the values that give it; ``*`` is any.
    """
    found = _values(claims, claim)
    given = [role for role, values in roles.items() if EVERYBODY in values or found.intersection(values)]
    return max(given, key=RANK.__getitem__, default=None)


def _values(claims: Mapping[str, object], claim: str) -> set[str]:
    value: object = claims
    # A name with dots may also stand as it is: some providers name claims by addresses.
    for part in [claim] if claim in claims else claim.split("."):
        value = cast("Any", value).get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return {value}
    return {one for one in cast("list[object]", value) if isinstance(one, str)} if isinstance(value, list) else set()
