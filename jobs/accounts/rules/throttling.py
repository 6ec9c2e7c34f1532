"""How long wrong sign-ins must wait, and under what they are counted."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address
from typing import Final

from ...core.outcome import exponential

FORGOTTEN_AFTER: Final = timedelta(hours=24)
"""So long after the last wrong password the count starts again."""


@dataclass(frozen=True, slots=True)
class ThrottlePolicy:
    """How wrong sign-ins are slowed down.

    Attributes:
        free: So many failures cost nothing.
        longest: The pause doubles from one second with each further failure, up to this.
    """

    free: int
    longest: timedelta


ACCOUNT_THROTTLE: Final = ThrottlePolicy(5, timedelta(minutes=1))
"""For one account from anywhere. The pause stays short: a stranger who guesses must not lock its owner out for long."""
ADDRESS_THROTTLE: Final = ThrottlePolicy(20, timedelta(minutes=15))
"""For one address with any name: an office behind one address makes a few mistakes, a guesser makes many."""
CHALLENGE_THROTTLE: Final = ThrottlePolicy(100, timedelta(minutes=15))
"""For passkey challenges that one address asks for: each is a row, and one that leads to a sign-in does not count."""


def pause_after(policy: ThrottlePolicy, failures: int) -> timedelta:
    """How long to wait after so many failures in a row."""
    further = failures - policy.free
    if further <= 0:
        return timedelta(0)
    return timedelta(seconds=exponential(1.0, policy.longest.total_seconds(), further - 1))


def counted_failures(failures: int, last_failed_at: datetime, now: datetime) -> int:
    """The failures that still count at ``now``."""
    return 0 if now - last_failed_at > FORGOTTEN_AFTER else failures


def account_subject(key: str) -> str:
    """What the failures of an account are counted under. Hashed: people type passwords where a name belongs."""
    return "account:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def address_subject(address: str) -> str:
    """What the failures from an address are counted under; of IPv6 the network of one customer (/64)."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return f"address:{address[:60]}"
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is None:
        return f"address:{IPv6Address(int(ip) >> 64 << 64)}/64"
    return f"address:{ip.ipv4_mapped if isinstance(ip, IPv6Address) else ip}"


def challenge_subject(address: str) -> str:
    """What the challenges that an address asked for are counted under."""
    return f"challenge-{address_subject(address)}"


def guess_subject(account_id: int) -> str:
    """What the user codes of devices that an account has typed in vain are counted under."""
    return f"device:{account_id}"
