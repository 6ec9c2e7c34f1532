"""The addresses of passkeys: two steps to make one, two steps to sign in by one."""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.actions import passkeys as actions
from ...jobs.accounts.actions.fresh import fresh_secret
from ...jobs.accounts.rules.credentials import Prefix, stored_form
from ...jobs.actions.acting import acting
from ...jobs.own.threads import briefly_in_thread
from ...jobs.store.db.database import Database
from .base.forms import json_object, text_member
from .browser_sessions import NO_STORE, BrowserSessions
from .passkeys import Answer, Challenge, RelyingParty, prepare
from .signing import SignedIn, client_info_of, person_of, too_many


class PasskeyRoutes:
    """Answers what has to do with passkeys, but for their names and their end, which are in the API."""

    def __init__(self, database: Database, sessions: BrowserSessions, party: RelyingParty) -> None:
        self._database = database
        self._sessions = sessions
        self._party = party

    def routes(self) -> list[Route]:
        """All of them."""
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
    """Has what passkeys need imported in a thread, where it does not keep others from being answered."""

    async def after_it(request: Request) -> Response:
        await briefly_in_thread(prepare)
        return await answer(request)

    return after_it


def _json(text: str) -> Response:
    return Response(text, media_type="application/json", headers=NO_STORE)
