"""Judge accounts, their names and their passwords."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast
from unicodedata import normalize

from ...core.actor import RANK, Role
from ...core.base.errors import InvalidInput
from ...core.rules import check_name

_LIKE: Final = {
    "2": "\u01a7\u03e8\ua644\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab",
    "4": "\u13ce",
    "5": "\u01bc",
    "6": "\u0431\u13ee\u2cd2",
    "8": "\u0222\u0223",
    "9": "\u2cca\ua76e",
    "a": "\u0251\u0391\u03b1\u0410\u0430\u13aa\ua4ee",
    "b": "\u0184\u0392\u0412\u042c\u13cf\u13f4\ua4d0\ua7b4",
    "c": "\u0421\u0441\u13df\u1d04\u2ca4\u2ca5\ua4da\uabaf",
    "d": "\u0501\u13a0\u13e7\ua4d2\ua4d3",
    "e": "\u0395\u0415\u0435\u04bd\u13ac\ua4f0\uab32",
    "f": "\u03dc\u0584\u1e9d\ua4dd\ua798\ua799\uab35",
    "g": "\u018d\u0261\u050c\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": "\u0397\u041d\u04bb\u0570\u13bb\u13c2\u2c8e\ua4e7",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\ua647\uab75",
    "j": "\u037f\u03f3\u0408\u0458\u13ab\ua4d9\ua7b2",
    "k": "\u039a\u041a\u13e6\u2c94\ua4d7",
    "l": "\u0196\u01c0\u0399\u0406\u04c0\u13de\u2c92\u2cd0\ua4e1\ua4f2",
    "m": "\u039c\u03fa\u041c\u13b7\u2c98\ua4df",
    "n": "\u039d\u0578\u057c\u2c9a\ua4e0",
    "o": "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u1d0f\u1d11\u2c9e\u2c9f\ua4f3\uab3d",
    "p": "\u03a1\u03c1\u0420\u0440\u13e2\u2ca2\u2ca3\ua4d1",
    "q": "\u051b\u0563\u0566",
    "r": "\u01a6\u0433\u13a1\u13d2\u1d26\u2c85\ua4e3\uab47\uab48\uab81",
    "s": "\u01bd\u0405\u0455\u054f\u13d5\u13da\ua4e2\ua731\uabaa",
    "t": "\u03a4\u0422\u13a2\u2ca6\ua4d4",
    "u": "\u028b\u03c5\u054d\u057d\u1d1c\ua4f4\ua79f\uab4e\uab52",
    "v": "\u03bd\u0474\u0475\u13d9\u1d20\ua4e6\uaba9",
    "w": "\u026f\u0461\u051c\u051d\u0561\u13b3\u13d4\u1d21\ua4ea\uab83",
    "x": "\u03a7\u0425\u0445\u2cac\ua4eb\ua7b3",
    "y": "\u0263\u028f\u03a5\u03b3\u0423\u0443\u04ae\u04af\u13a9\u13bd\u1d8c\u1eff\u2ca8\ua4ec\uab5a",
    "z": "\u0396\u13c3\u1d22\ua4dc\uab93",
}
_UNSEEN: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))
"""Letters and marks that leave no trace."""
_TABLE: Final = str.maketrans(
    {"0": "o", "1": "l", "I": "l", "|": "l"}
    | {letter: latin for latin, letters in _LIKE.items() for letter in letters}
    | dict.fromkeys(_UNSEEN, "")
)


def look_of(name: str) -> str:
    """Return the look of a name, without regard to case: equal for names that people take for one another."""
    # Once more after the case is gone: a capital letter may look like nothing, and its small one like a Latin one.
    return normalize("NFKD", name).translate(_TABLE).casefold().translate(_TABLE)


MAX_ACCOUNT_NAME: Final = 100
MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 1024
"""Characters of a password: long sentences fit, and nobody can make the server hash a megabyte."""
LOCAL_ADMINISTRATOR_NAME: Final = "local administrator"
"""In whose name everybody acts without sign-in; no account may be called so."""
LINK_LIFETIME: Final = timedelta(hours=24)
"""Lifetime of a link that sets up the first account, or a new password."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person or a program that may sign in. Accounts are disabled and never deleted: the log names them for ever."""

    id: int
    name: str
    role: Role
    has_password: bool
    disabled_at: datetime | None
    created_at: datetime


_LOCAL_ADMINISTRATOR_LOOK: Final = look_of(LOCAL_ADMINISTRATOR_NAME)


def name_key(name: str) -> str:
    """Return the form in which two account names must differ: case and the form of letters do not count."""
    return normalize("NFKC", name).casefold()


def check_account_name(name: str) -> str:
    """Return the name as it is stored.

    Raises:
        InvalidInput: it is too long, reserved, or has characters that are not seen.
    """
    normal = normalize("NFC", name)
    check_name(normal)
    if len(normal) > MAX_ACCOUNT_NAME:
        raise InvalidInput(f"name: must have 1 to {MAX_ACCOUNT_NAME} characters, got {len(normal)}", path=("name",))
    if look_of(normal) == _LOCAL_ADMINISTRATOR_LOOK:
        raise InvalidInput(
            f"name: must not be '{LOCAL_ADMINISTRATOR_NAME}', who acts where there is no sign-in; choose another name",
            path=("name",),
        )
    return normal


def check_password(password: str, name: str) -> None:
    """Check that a new password is long enough to resist guessing, short enough to hash, and not the name.

    Raises:
        InvalidInput: says which; the password is never in the message.
    """
    length = len(password)
    if not MIN_PASSWORD <= length <= MAX_PASSWORD:
        raise InvalidInput(
            f"password: must have {MIN_PASSWORD} to {MAX_PASSWORD} characters, got {length:,}; "
            "a sentence of a few words does well",
            path=("password",),
        )
    if "\0" in password or name_key(password) == name_key(name) or len(set(password)) < 3:
        raise InvalidInput(
            "password: must not be the account's name, have a NUL, or repeat one or two characters; "
            "a sentence of a few words does well",
            path=("password",),
        )


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
