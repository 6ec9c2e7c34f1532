"""Hooks as values: who may send to one, how its requests are signed, and why no request counts twice."""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, cast

from ..accounts.rules.secrets import STANDARD
from ..core.base.errors import InvalidInput, UserError
from ..core.model import Json
from ..core.rules import name_faults, text_faults
from .messages import signed_headers

MAX_HOOKS: Final = 1_000
MAX_SECRETS: Final = 3
TOLERANCE: Final = 300.0
"""Seconds by which the time of a signed request may differ from ours, as Stripe and Standard Webhooks have it."""
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
KEY_HEADER: Final = "idempotency-key"


class HookKind(StrEnum):
    """The form in which senders prove that they know the secret."""

    GITHUB = "github"
    STRIPE = "stripe"
    STANDARD = STANDARD
    BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class Hook:
    """An address at which requests start runs of a job.

    Attributes:
        secrets: The names of the secrets; a request by any of them is taken.
        argument: The argument that gets the payload; None = the members of the payload are the arguments.
        set_name: The set of the file that defines it.
    """

    name: str
    job_name: str
    kind: HookKind
    secrets: tuple[str, ...]
    argument: str | None
    description: str
    enabled: bool
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    set_name: str | None = None

    @property
    def definition(self) -> dict[str, Json]:
        """Return the hook in the form of a file."""
        values: dict[str, Json] = {"job": self.job_name, "kind": self.kind.value, "secrets": list(self.secrets)}
        values |= {"argument": self.argument, "description": self.description}
        return {name: value for name, value in values.items() if value}

    def args(self, payload: Json) -> dict[str, Json]:
        """Return the arguments of the run that a payload starts.

        Raises:
            InvalidInput: its members are the arguments, and it is no object.
        """
        if self.argument is not None:
            return {self.argument: payload}
        if payload is None:
            return {}
        if not isinstance(payload, dict):
            raise InvalidInput(
                "args: the payload must be an object, whose members are the arguments of the job; a hook with "
                "`argument` takes any JSON",
                path=("args",),
            )
        return cast("dict[str, Json]", payload)


def hook_faults(hook: Hook) -> Iterator[UserError]:
    """Yield the faults of a hook that need no database."""
    if not NAME.fullmatch(hook.name):
        yield InvalidInput(
            f"name: must be 1 to 100 letters, digits, '.', '_' and '-', the first a letter or digit, got "
            f"{hook.name[:120]!r}: it is a part of an address",
            path=("name",),
        )
    yield from text_faults(hook.description, "description")
    if not 1 <= len(hook.secrets) <= MAX_SECRETS:
        yield InvalidInput(f"secrets: must be 1 to {MAX_SECRETS} names, got {len(hook.secrets)}", path=("secrets",))
    if hook.argument is not None:
        yield from name_faults(hook.argument, "argument")


def refusal(
    kind: HookKind, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: datetime
) -> str | None:
    """Return the reason why a request is not proven to come from somebody who knows a secret; None = it is.

    Args:
        kind: The form of the proof.
        secrets: The values of the secrets.
        headers: The headers of the request, by their names in lower case.
        body: The body as it came.
    """
    return _CHECKS[kind]([one.encode() for one in secrets], headers, body, now)


def _github(secrets: Sequence[bytes], headers: Mapping[str, str], body: bytes, _now: datetime) -> str | None:
    given = headers.get("x-hub-signature-256", "").encode()
    if not given:
        return "The header X-Hub-Signature-256 is missing."
    good = [hmac.compare_digest(given, b"sha256=" + _hex(one, body)) for one in secrets]
    return None if any(good) else "X-Hub-Signature-256 is not the signature of this body by the hook's secret."


def _stripe(secrets: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: datetime) -> str | None:
    pairs = [part.strip().partition("=") for part in headers.get("stripe-signature", "").split(",")]
    stamps = [value for name, _, value in pairs if name == "t"]
    given = [value.encode() for name, _, value in pairs if name == "v1"]
    if len(stamps) != 1 or not given:
        return "The header Stripe-Signature must have one 't' and at least one 'v1'."
    late = _lateness(stamps[0], now)
    wanted = [_hex(one, stamps[0].encode() + b"." + body) for one in secrets]
    good = [hmac.compare_digest(one, other) for one in given for other in wanted]
    return late or (None if any(good) else "Stripe-Signature is not the signature of this body by the hook's secret.")


def _standard(secrets: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: datetime) -> str | None:
    message_id, stamp, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (message_id and stamp and given):
        return "The headers webhook-id, webhook-timestamp and webhook-signature are needed."
    late = _lateness(stamp, now)
    if late is not None:
        return late
    at = datetime.fromtimestamp(int(stamp), UTC)
    wanted = signed_headers([one.decode() for one in secrets], message_id, at, body)["webhook-signature"].split()
    good = [hmac.compare_digest(one.encode(), other.encode()) for one in given.split()[:20] for other in wanted]
    return None if any(good) else "webhook-signature is not the signature of this body by the hook's secret."


def _bearer(secrets: Sequence[bytes], headers: Mapping[str, str], _body: bytes, _now: datetime) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return "The header Authorization must be 'Bearer' and the hook's secret."
    good = [hmac.compare_digest(token.strip().encode(), one) for one in secrets]
    return None if any(good) else "The token is not the hook's secret."


_CHECKS: Final = {
    HookKind.GITHUB: _github,
    HookKind.STRIPE: _stripe,
    HookKind.STANDARD: _standard,
    HookKind.BEARER: _bearer,
}


def _hex(secret: bytes, content: bytes) -> bytes:
    return hmac.new(secret, content, hashlib.sha256).hexdigest().encode()


def _lateness(stamp: str, now: datetime) -> str | None:
    """Return the refusal of a time that is none, or too far from now."""
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 11):
        return "The time of the signature must be a number of seconds since 1970."
    if abs(now.timestamp() - int(stamp)) > TOLERANCE:
        return f"The signature is older or newer than {TOLERANCE:g} s."
    return None


_IDS: Final = {HookKind.GITHUB: "x-github-delivery", HookKind.STANDARD: "webhook-id"}


def request_key(kind: HookKind, headers: Mapping[str, str], payload: Json) -> str | None:
    """Return the key under which a sender repeats a request: its id of the delivery, or ``Idempotency-Key``."""
    known = headers.get(_IDS.get(kind, KEY_HEADER)) or headers.get(KEY_HEADER)
    if kind is HookKind.STRIPE and isinstance(payload, dict):
        event: Any = cast("dict[str, Json]", payload).get("id")
        return event if isinstance(event, str) and event else known
    return known
