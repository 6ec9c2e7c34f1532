"""Signing in at a server from the command line (RFC 8628), and out again."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import httpx

from ..base.errors import ClientError, InvalidAnswerError
from .credentials import CLIENT_ID, Credentials, StoredTokens, origin_of
from .transport import Settings

DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_BY: Final = 5


class SignInRefusedError(ClientError):
    """Somebody refused, or nobody decided in time."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """Tell a person where to let this device in.

    Attributes:
        address: The page to be opened, with the code filled in.
        code: The code that the page must show.
    """

    address: str
    code: str


def sign_in(
    url: str,
    invite: Callable[[Invitation], None],
    credentials: Credentials | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Sign in, and keep that for all clients of this user.

    Args:
        url: The address of the server.
        invite: Shows somebody where to let this device in.
        credentials: Where sign-ins are kept.
        pause: Waits for so many seconds.

    Raises:
        ClientError: no server of this kind is there, or it was refused.
    """
    settings = Settings(url=url, anonymous=True)
    origin = origin_of(settings.address)
    with settings.named_errors(), httpx.Client(**settings.options()) as http:
        begun = _fields(http.post(f"{origin}/oauth/device_authorization", data={"client_id": CLIENT_ID}))
        invite(Invitation(begun["verification_uri_complete"], begun["user_code"]))
        fields = {"client_id": CLIENT_ID, "grant_type": DEVICE_GRANT, "device_code": begun["device_code"]}
        interval = float(begun["interval"])
        while True:
            pause(interval)
            response = http.post(f"{origin}/oauth/token", data=fields)
            answer = _fields(response, expected=(200, 400))
            match answer.get("error"):
                case None:
                    (credentials or Credentials()).put(origin, StoredTokens.of(answer, time.time()))
                    return
                case "slow_down":
                    interval += _SLOWER_BY
                case "authorization_pending":
                    continue
                case _:
                    raise SignInRefusedError(f"no sign-in: {answer.get('error_description', answer['error'])}")


def sign_out(url: str, credentials: Credentials | None = None) -> bool:
    """End the sign-in at a server, there and here; False if there was none.

    Raises:
        ClientError: the server cannot be reached; then it is kept.
    """
    settings = Settings(url=url, anonymous=True)
    origin, kept = origin_of(settings.address), credentials or Credentials()
    known = kept.get(origin)
    if known is None:
        return False
    with settings.named_errors(), httpx.Client(**settings.options()) as http:
        _fields(http.post(f"{origin}/oauth/revoke", data={"client_id": CLIENT_ID, "token": known.refresh_token}))
    kept.remove(origin)
    return True


def _fields(response: httpx.Response, expected: tuple[int, ...] = (200,)) -> Mapping[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        InvalidAnswerError: it is none.
    """
    try:
        answer: Any = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or response.status_code not in expected:
        known: dict[str, Any] = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        words = known.get("error_description", "")
        raise InvalidAnswerError(
            f"{response.url.copy_with(path='/')} does not let a device sign in (HTTP {response.status_code}) {words}"
        )
    return cast("dict[str, Any]", answer)
