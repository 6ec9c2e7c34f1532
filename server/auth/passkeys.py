"""Passkeys by WebAuthn: the request to the browser, and the check of its answer."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.rules.credentials import CHALLENGE_LIFETIME, DeviceKey, Passkey, stored_form
from ...jobs.accounts.rules.sessions import Identity
from ...jobs.core.base.lazy import LazyModule, load

if TYPE_CHECKING:
    import webauthn
    from webauthn import helpers
    from webauthn.helpers import structs
else:
    webauthn = LazyModule("webauthn")
    helpers = LazyModule("webauthn.helpers")
    structs = LazyModule("webauthn.helpers.structs")
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...jobs.accounts.actions import passkeys as actions
from ...jobs.accounts.actions.accounts import fresh_secret
from ...jobs.accounts.rules.credentials import Prefix
from ...jobs.actions.idempotent import acting
from ...jobs.own.threads import briefly_in_thread
from ...jobs.store.db.database import Database
from .browser_sessions import NO_STORE, BrowserSessions
from .forms import json_object, text_member
from .signing import SignedIn, client_info_of, person_of, too_many

log = logging.getLogger("cronograph.sign_in")

CHALLENGE_BYTES: Final = 32
TIMEOUT: Final = round(CHALLENGE_LIFETIME.total_seconds() * 1000)
"""Milliseconds for which a browser waits for its user."""


class Challenge:
    """Random bytes that a device signs."""

    def __init__(self, value: bytes | None = None) -> None:
        """Take these bytes, or new ones."""
        self.value = token_bytes(CHALLENGE_BYTES) if value is None else value

    @property
    def stored(self) -> str:
        """Return the form in which the database keeps them."""
        return stored_form(helpers.bytes_to_base64url(self.value))


class RelyingParty:
    """This server as devices know it: by the name in its address.

    Attributes:
        origin: Scheme, host and port that pages must have which ask for a passkey.
        name: The host's; None when it is an address, for which there can be no passkeys.
    """

    def __init__(self, url: str) -> None:
        """Take the origin and the name from the URL by which people open the server."""
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.name = None if _is_address(parts.hostname or "") else parts.hostname

    def required_name(self) -> str:
        """Return the host's name.

        Raises:
            UserFacingError: ``PASSKEYS_NOT_AVAILABLE``: it has none.
        """
        if self.name is None:
            message = f"Passkeys need a name, and people open this server as {self.origin}; set public_url to one."
            raise UserFacingError(message, code="PASSKEYS_NOT_AVAILABLE", http_status=409)
        return self.name

    def sign_in_options(self, challenge: Challenge) -> str:
        """Return the JSON by which a browser asks its user for a passkey of this server."""
        required = structs.UserVerificationRequirement.REQUIRED
        return webauthn.options_to_json(
            webauthn.generate_authentication_options(
                rp_id=self.required_name(),
                challenge=challenge.value,
                timeout=TIMEOUT,
                user_verification=required,
            )
        )

    def registration_options(self, challenge: Challenge, account: Identity, known: Sequence[Passkey]) -> str:
        """Return the JSON by which a browser makes a passkey for an account."""
        required = structs.UserVerificationRequirement.REQUIRED
        ids = [helpers.base64url_to_bytes(one.key.credential_id) for one in known]
        return webauthn.options_to_json(
            webauthn.generate_registration_options(
                rp_id=self.required_name(),
                rp_name="Cronograph",
                user_name=account.name,
                user_id=f"cronograph-{account.account_id}".encode(),
                challenge=challenge.value,
                timeout=TIMEOUT,
                authenticator_selection=structs.AuthenticatorSelectionCriteria(
                    resident_key=structs.ResidentKeyRequirement.REQUIRED,
                    user_verification=required,
                ),
                exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=one) for one in ids],
            )
        )

    def new_key(self, credential: Mapping[str, Any], challenge: Challenge) -> DeviceKey | None:
        """Return the key behind the answer to a registration; None if the answer is not good."""
        try:
            done = webauthn.verify_registration_response(
                credential=dict(credential),
                expected_challenge=challenge.value,
                expected_rp_id=self.required_name(),
                expected_origin=self.origin,
                require_user_verification=True,
            )
        except Exception as error:  # noqa: BLE001 - it reads a stranger's bytes by several libraries, each with its own
            log.info("a passkey was not registered: %s", error)
            return None
        credential_id, public_key = map(helpers.bytes_to_base64url, (done.credential_id, done.credential_public_key))
        return DeviceKey(credential_id, public_key, done.sign_count)

    def sign_count(self, credential: Mapping[str, Any], challenge: Challenge, passkey: Passkey) -> int | None:
        """Return how often the device was used by now; None if its signature is not good."""
        try:
            done = webauthn.verify_authentication_response(
                credential=dict(credential),
                expected_challenge=challenge.value,
                expected_rp_id=self.required_name(),
                expected_origin=self.origin,
                credential_public_key=helpers.base64url_to_bytes(passkey.key.public_key),
                credential_current_sign_count=passkey.key.sign_count,
                require_user_verification=True,
            )
        except Exception as error:  # noqa: BLE001 - as above
            log.info("a passkey was not accepted: %s", error)
            return None
        return done.new_sign_count


@dataclass(frozen=True, slots=True)
class Answer:
    """Name the challenge that a browser answers, and the passkey by which it does.

    Attributes:
        credential: As the browser has made it.
        credential_id: Which passkey, in base64url.
    """

    credential: Mapping[str, Any]
    credential_id: str
    challenge: Challenge

    @classmethod
    def read(cls, credential: object, *, registers: bool) -> "Answer":
        """Return the answer in a request.

        Raises:
            UserFacingError: ``INVALID_REQUEST``: it is not one.
        """
        parse = (
            helpers.parse_registration_credential_json if registers else helpers.parse_authentication_credential_json
        )
        try:
            found = parse(dict(cast("Mapping[str, Any]", credential)))
            challenge = helpers.parse_client_data_json(found.response.client_data_json).challenge
        except Exception as error:
            message = f"'credential' must be what the browser made of a passkey: {str(error)[:200]}"
            raise UserFacingError(message, code="INVALID_REQUEST", http_status=400) from error
        return cls(
            cast("Mapping[str, Any]", credential), helpers.bytes_to_base64url(found.raw_id), Challenge(challenge)
        )


def prepare() -> None:
    """Import the packages that passkeys need, which takes some tenths of a second the first time."""
    load(webauthn, helpers, structs)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class PasskeyRoutes:
    """Answers requests about passkeys; renaming and deleting them is in the API."""

    def __init__(self, database: Database, sessions: BrowserSessions, party: RelyingParty) -> None:
        self._database = database
        self._sessions = sessions
        self._party = party

    def routes(self) -> list[Route]:
        """Return all of them."""
        posted = partial(Route, methods=["POST"])
        guarded = self._sessions.posted
        return [
            posted("/auth/passkey/challenge", guarded(_prepared(self._challenge))),
            posted("/auth/passkey", guarded(_prepared(self._sign_in))),
            posted("/auth/passkey/registration/challenge", guarded(_prepared(self._registration_challenge))),
            posted("/auth/passkey/registration", guarded(_prepared(self._register))),
        ]

    async def _challenge(self, request: Request) -> Response:
        challenge = Challenge()
        answer = _json(self._party.sign_in_options(challenge))
        secret = self._sessions.attempts.secret_of(request) or fresh_secret(Prefix.ATTEMPT)
        wait = await self._database.write(
            actions.begin_sign_in, challenge.stored, stored_form(secret), client_info_of(request)
        )
        if wait > 0:
            raise too_many(wait)
        self._sessions.attempts.write(request, answer, secret)
        return answer

    async def _sign_in(self, request: Request) -> Response:
        answer = Answer.read((await json_object(request, ("credential",))).get("credential"), registers=False)
        signed_in = await self._signed_in(request, answer)
        account = signed_in.account
        done = JSONResponse({"name": account.name, "role": account.role.name}, headers=NO_STORE)
        return await self._sessions.welcome(request, signed_in, done)

    async def _signed_in(self, request: Request, answer: Answer) -> SignedIn:
        place = client_info_of(request)
        bound_to = stored_form(self._sessions.attempts.secret_of(request) or "")
        proof = actions.Proof(answer.challenge.stored, bound_to, answer.credential_id)
        passkey = await self._database.write(actions.claim, proof)
        if passkey is not None:
            count = self._party.sign_count(answer.credential, answer.challenge, passkey)
            secret = fresh_secret(Prefix.SESSION)
            if count is not None:
                account = await self._database.write(actions.succeed, passkey, count, stored_form(secret), place)
                if account is not None:
                    return SignedIn(account, secret)
        await self._database.write(actions.fail, passkey, place)
        message = "The passkey was not accepted: it is not known here, or too much time passed; try again."
        raise UserFacingError(message, code="WRONG_CREDENTIALS", http_status=401)

    async def _registration_challenge(self, request: Request) -> Response:
        known = await self._sessions.required(request)
        self._party.required_name()
        challenge = Challenge()
        bound_to = stored_form(self._sessions.secret_of(request))
        mine = await self._database.write(actions.begin_registration, challenge.stored, bound_to, known.account_id)
        return _json(self._party.registration_options(challenge, known, mine))

    async def _register(self, request: Request) -> Response:
        known = await self._sessions.required(request)
        members = await json_object(request, ("credential", "name"))
        answer = Answer.read(members.get("credential"), registers=True)
        bound_to = stored_form(self._sessions.secret_of(request))
        good = await self._database.write(actions.spend_registration, answer.challenge.stored, bound_to)
        key = self._party.new_key(answer.credential, answer.challenge) if good else None
        if key is None:
            message = "The passkey was not registered: its proof is not good, or too much time passed; try again."
            raise UserFacingError(message, code="INVALID_PASSKEY", http_status=400)
        actor, name = person_of(request, known).actor, text_member(members, "name")
        made = await self._database.write(acting, actor, actions.register, known.account_id, key, name)
        return JSONResponse({"id": str(made.id), "name": made.name}, headers=NO_STORE)


def _prepared(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Import the modules for passkeys in a thread before the answer, so that other requests are not held up."""

    async def after_it(request: Request) -> Response:
        await briefly_in_thread(prepare)
        return await answer(request)

    return after_it


def _json(text: str) -> Response:
    return Response(text, media_type="application/json", headers=NO_STORE)
