"""The device authorization grant: RFC 8628, with refresh tokens of RFC 6749 and revocation of RFC 7009."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.actions import devices as actions
from ...jobs.accounts.actions.accounts import fresh_secret
from ...jobs.accounts.actions.devices import Guess, NewTokens
from ...jobs.accounts.actions.sessions import ClientInfo
from ...jobs.accounts.rules.credentials import Prefix, prefix_of, stored_form
from ...jobs.accounts.rules.sessions import (
    ACCESS_LIFETIME,
    CODE_LIFETIME,
    POLL_EVERY,
    Answer,
    CredentialKind,
    Identity,
    shown_user_code,
    user_code_of,
)
from ...jobs.actions.idempotent import acting
from ...jobs.core.base.errors import UserError
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Tx
from .authenticator import Authenticator
from .browser_sessions import BrowserSessions
from .forms import form, page_and_form
from .pages import Redirect, code_page, decided_page, decision_page
from .signing import client_info_of, person_of, too_many

CLIENT: Final = "cronograph-cli"
"""The only client there is: the command line and the Python client. It has no secret of its own."""
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
OTHERS_TOO: Final = None
"""RFC 6749, 3.2: parameters that are not known are ignored, and none may be there twice."""
WORDS: Final[Mapping[Answer, str]] = {
    Answer.PENDING: "nobody has decided yet; ask again",
    Answer.SLOW_DOWN: "asked too soon; wait 5 seconds longer than before between two questions",
    Answer.DENIED: "somebody has refused this device, or the account is disabled",
    Answer.EXPIRED: "the code is older than 10 minutes; start again",
    Answer.INVALID: "the code was used already, or is none of this server",
}
WRONG_CODE: Final = "No device shows this code, or it is older than 10 minutes."
Handler = Callable[[Request], Awaitable[Response]]


class OAuthError(Exception):
    """A refusal in the form of RFC 6749.

    Attributes:
        code: The word of the standard.
        description: The sentence for people.
        status: Of HTTP.
    """

    def __init__(self, code: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.status = status


class OAuthRoutes:
    """Answers devices that want to be signed in, and the people who decide about them."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        sessions: BrowserSessions,
        address: str,
        poll_every: int = POLL_EVERY,
    ) -> None:
        """Answer.

        Args:
            authenticator: Finds the identity behind a request.
            sessions: Of the browsers in which somebody decides.
            address: Under which people open the server.
            poll_every: Seconds between two questions of a device, at least.
        """
        self._poll_every = poll_every
        self._database = database
        self._authenticator = authenticator
        self._sessions = sessions
        self._address = address

    def routes(self) -> list[Route]:
        """Return all of them."""
        return [
            Route("/.well-known/oauth-authorization-server", self._metadata, methods=["GET"]),
            Route("/oauth/device_authorization", self._answering(self._begin), methods=["POST"]),
            Route("/oauth/token", self._answering(self._token), methods=["POST"]),
            Route("/oauth/revoke", self._answering(self._revoke), methods=["POST"]),
            page_and_form("/device", self._ask, self._answering(self._look_up)),
            Route("/device/decision", self._answering(self._decide), methods=["POST"]),
        ]

    def _answering(self, handler: Handler) -> Handler:
        """Return a handler that other sites cannot reach, and whose refusals have the form of the standard."""
        return self._sessions.posted(handler, _refusal)

    async def _metadata(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self._address,
                "device_authorization_endpoint": f"{self._address}/oauth/device_authorization",
                "token_endpoint": f"{self._address}/oauth/token",
                "revocation_endpoint": f"{self._address}/oauth/revoke",
                "grant_types_supported": [DEVICE_GRANT, "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "response_types_supported": [],
            }
        )

    async def _begin(self, request: Request) -> Response:
        _check_client(await form(request, OTHERS_TOO))
        device, user = fresh_secret(Prefix.DEVICE_CODE), actions.fresh_user_code()
        codes = actions.NewCodes(stored_form(device), stored_form(user), self._poll_every)
        await self._database.write(actions.begin, codes, client_info_of(request))
        shown = shown_user_code(user)
        return _answered(
            {
                "device_code": device,
                "user_code": shown,
                "verification_uri": f"{self._address}/device",
                "verification_uri_complete": f"{self._address}/device?user_code={shown}",
                "expires_in": int(CODE_LIFETIME.total_seconds()),
                "interval": self._poll_every,
            }
        )

    async def _token(self, request: Request) -> Response:
        fields = await form(request, OTHERS_TOO)
        _check_client(fields)
        tokens = fresh_secret(Prefix.ACCESS_TOKEN), fresh_secret(Prefix.REFRESH_TOKEN)
        new = NewTokens(stored_form(tokens[0]), stored_form(tokens[1]))
        match fields.get("grant_type"):
            case "refresh_token":
                shown = stored_form(_needed(fields, "refresh_token"))
                account = await self._database.write(actions.exchange, shown, new, client_info_of(request))
                if account is None:
                    raise OAuthError("invalid_grant", "the sign-in has ended; run `cronograph login`")
            case grant if grant == DEVICE_GRANT:
                shown = stored_form(_needed(fields, "device_code"))
                answer = (await self._database.write(actions.redeem, shown, new)).answer
                if answer is not Answer.GRANTED:
                    raise OAuthError(answer.value, WORDS[answer])
            case _:
                message = f"grant_type must be {DEVICE_GRANT} or refresh_token"
                raise OAuthError("unsupported_grant_type", message)
        return _answered(
            {
                "access_token": tokens[0],
                "token_type": "Bearer",
                "expires_in": int(ACCESS_LIFETIME.total_seconds()),
                "refresh_token": tokens[1],
            }
        )

    async def _revoke(self, request: Request) -> Response:
        fields = await form(request, OTHERS_TOO)
        _check_client(fields)
        token = _needed(fields, "token")
        end: dict[Prefix, Callable[[Tx, str, ClientInfo], bool]] = {
            Prefix.REFRESH_TOKEN: actions.end_by_refresh,
            Prefix.ACCESS_TOKEN: actions.end_by_access,
        }
        action = end.get(prefix_of(token) or Prefix.LINK)
        if action is not None:
            await self._database.write(action, stored_form(token), client_info_of(request))
            self._authenticator.forget(token)
        # A token that is none is no fault: it is invalid, as asked.
        return _answered({})

    async def _ask(self, request: Request) -> Response:
        code = request.query_params.get("user_code", "")[:20]
        if await self._person(request) is None:
            return _to_login(code)
        return code_page(code)

    async def _look_up(self, request: Request) -> Response:
        code = (await form(request, ("user_code",))).get("user_code", "")[:20]
        identity = await self._person(request)
        if identity is None:
            return _to_login(code)
        guess = await self._database.write(actions.look_up, _hashed(code), identity.account_id, client_info_of(request))
        if guess.request is None:
            return _not_found(guess, code)
        return decision_page(code, guess.request, identity.name, identity.role.value)

    async def _decide(self, request: Request) -> Response:
        fields = await form(request, ("user_code", "decision"))
        code, identity = fields.get("user_code", "")[:20], await self._person(request)
        if identity is None:
            return _to_login(code)
        decision = _needed(fields, "decision")
        if decision not in ("approve", "deny"):
            raise OAuthError("invalid_request", f"decision must be approve or deny, got '{decision[:100]}'")
        approve = decision == "approve"
        place, actor = client_info_of(request), person_of(request, identity).actor
        guess = await self._database.write(
            acting, actor, actions.decide, _hashed(code), identity.account_id, place, approve=approve
        )
        return _not_found(guess, code) if guess.request is None else decided_page(approved=approve)

    async def _person(self, request: Request) -> Identity | None:
        """Return the identity that has signed in with this browser; a token decides about no device."""
        known = await self._sessions.identity(request)
        return known if known is not None and known.kind is CredentialKind.BROWSER else None


def _check_client(fields: Mapping[str, str]) -> None:
    if fields.get("client_id") != CLIENT:
        raise OAuthError("invalid_client", f"client_id must be {CLIENT}", 401)


def _needed(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if not value:
        raise OAuthError("invalid_request", f"{name} is missing")
    return value


def _hashed(code: str) -> str | None:
    normal = user_code_of(code)
    return None if normal is None else stored_form(normal)


def _to_login(code: str) -> Response:
    normal = user_code_of(code)
    query = "" if normal is None else f"%3Fuser_code%3D{shown_user_code(normal)}"
    return Redirect(f"/login?next=/device{query}", 303, headers=NO_STORE)


def _not_found(guess: Guess, code: str) -> Response:
    if guess.wait > 0:
        error = too_many(guess.wait)
        answer = code_page(code, error.message, 429)
        answer.headers["Retry-After"] = str((error.extensions or {})["retryAfter"])
        return answer
    return code_page(code, WRONG_CODE, 400)


def _answered(data: Mapping[str, object]) -> Response:
    return JSONResponse(dict(data), headers=NO_STORE)


def _refusal(error: Exception) -> Response | None:
    match error:
        case OAuthError():
            return _refused(error.code, error.description, error.status)
        case UserError():
            return _refused("invalid_request", error.message, 429)
        case UserFacingError():
            return _refused("invalid_request", error.message, error.http_status or 400)
        case _:
            return None


def _refused(code: str, description: str, status: int) -> Response:
    return JSONResponse({"error": code, "error_description": description}, status, headers=NO_STORE)
