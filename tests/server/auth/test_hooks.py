"""Hooks over real HTTP: who is proven to know the secret starts a run, once for each delivery, and nobody else does."""

import asyncio
import hashlib
import hmac
import json
import logging
from datetime import timedelta
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from cronograph.jobs.accounts.actions.secrets import delete_secret, set_secret
from cronograph.jobs.accounts.rules.secrets import NONCE_BYTES, KeyRing, seal
from cronograph.jobs.accounts.statements import secrets
from cronograph.jobs.actions.groups import set_group_cap
from cronograph.jobs.actions.idempotent import acting
from cronograph.jobs.core.actor import Actor, Role
from cronograph.jobs.core.admission.caps import Cap, WhenFull
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState, NotFound, UserError
from cronograph.jobs.delivery import hooks
from cronograph.jobs.delivery.inbound import Hook, HookKind
from cronograph.jobs.store.schema import tables
from cronograph.server.http.hooks import MAX_BODY
from tests.server.auth.serving import Protected
from tests.support.storage import Stored

SECRETS = {
    HookKind.GITHUB: "It's a Secret to Everybody",
    HookKind.STRIPE: "whsec_of_stripe_is_plain_text",
    HookKind.STANDARD: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    HookKind.BEARER: "a-token-that-nobody-guesses",
}
SCHEMA = {
    "type": "object",
    "properties": {"ref": {"type": "string"}, "event": {}},
    "additionalProperties": False,
}
BODY = b'{"ref": "refs/heads/main"}'


async def a_hook(server: Protected, kind: HookKind, *, argument: str | None = None, job: str = "build") -> Hook:
    """A hook of a job that takes `ref` or `event`, by the secret of its kind."""
    await server.publish_job("build", SCHEMA)
    ada = Actor("ada", Role.ADMIN)
    await server.database.write(acting, ada, set_secret, f"s-{kind.value}", SECRETS[kind], server.keys)
    wanted = hooks.new_hook(
        kind.value, job, kind, secrets=(f"s-{kind.value}",), argument=argument, description="", enabled=True
    )
    return await server.database.write(acting, ada, hooks.create_hook, wanted, server.keys)


def signed(kind: HookKind, body: bytes, at: Any, delivery: str = "d-1", secret: str | None = None) -> dict[str, str]:
    """The headers by which a sender proves that it knows the secret."""
    known = secret or SECRETS[kind]
    stamp = str(int(at.timestamp()))
    if kind is HookKind.GITHUB:
        found = hmac.new(known.encode(), body, hashlib.sha256).hexdigest()
        return {"X-Hub-Signature-256": f"sha256={found}", "X-GitHub-Delivery": delivery}
    if kind is HookKind.STRIPE:
        found = hmac.new(known.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        return {"Stripe-Signature": f"t={stamp},v1={'0' * 64},v1={found},v0=old", "Idempotency-Key": delivery}
    if kind is HookKind.STANDARD:
        found = Webhook(known).sign(delivery, at, body.decode())
        return {"webhook-id": delivery, "webhook-timestamp": stamp, "webhook-signature": f"v1,AAAA {found}"}
    return {"Authorization": f"Bearer {known}", "Idempotency-Key": delivery}


async def send(server: Protected, name: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    """POST to a hook."""
    return await server.browser.post(
        f"/hooks/{name}", content=body, headers={"content-type": "application/json", **headers}
    )


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    (error,) = answer.json()["errors"]
    return answer.status_code, error["extensions"]["code"]


@pytest.mark.parametrize("kind", HookKind)
async def test_a_proven_request_starts_one_run_for_each_delivery(
    server: Protected, stored: Stored, kind: HookKind
) -> None:
    await a_hook(server, kind)
    at = server.clock.now
    first = await send(server, kind.value, BODY, signed(kind, BODY, at))
    assert first.status_code == 202, first.text
    again = await send(server, kind.value, BODY, signed(kind, BODY, at))
    other = await send(server, kind.value, BODY, signed(kind, BODY, at, "d-2"))
    assert (again.status_code, again.json()) == (202, first.json())
    runs = stored.rows(tables.run)
    assert [str(one.id) for one in runs] == [first.json()["run"], other.json()["run"]]
    assert {(one.trigger, one.job_name, one.submitter) for one in runs} == {("hook", "build", f"hook {kind.value}")}
    assert runs[0].args == {"ref": "refs/heads/main"}
    (entry, _) = stored.rows(tables.audit_log, action="hook.received")
    assert (entry.actor, entry.subject, entry.address) == (f"hook {kind.value}", kind.value, "127.0.0.1")
    assert json.loads(entry.after) == {"runId": first.json()["run"], "args": ["ref"]}


async def test_repetitions_at_the_same_time_start_one_run(server: Protected, stored: Stored) -> None:
    await a_hook(server, HookKind.GITHUB)
    headers = signed(HookKind.GITHUB, BODY, server.clock.now)
    answers = await asyncio.gather(*(send(server, "github", BODY, headers) for _ in range(8)))
    assert {(one.status_code, one.json()["run"]) for one in answers} == {(202, "1")}
    assert len(stored.rows(tables.run)) == 1


@pytest.mark.parametrize("kind", HookKind)
async def test_a_request_that_is_not_proven_starts_nothing(
    server: Protected, stored: Stored, kind: HookKind, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await a_hook(server, kind)
    at = server.clock.now
    wrong = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" if kind is HookKind.STANDARD else "another-secret-of-them"
    for headers in (
        {},
        signed(kind, BODY, at, secret=wrong),
        dict.fromkeys(signed(kind, BODY, at), "nonsense é"),
        dict.fromkeys(signed(kind, BODY, at), "t=1,t=2,v1=x"),
    ):
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        answer = await send(server, kind.value, BODY, encoded)  # type: ignore[arg-type]
        assert refused(answer) == (401, "UNAUTHENTICATED")
        assert answer.headers["www-authenticate"] == 'Bearer realm="hooks"'
    if kind is not HookKind.BEARER:
        assert refused(await send(server, kind.value, BODY + b" ", signed(kind, BODY, at)))[0] == 401
    assert stored.rows(tables.run) == []
    assert SECRETS[kind] not in caplog.text


@pytest.mark.costly
@pytest.mark.parametrize("kind", [HookKind.STRIPE, HookKind.STANDARD])
@pytest.mark.parametrize(("seconds", "status"), [(-301, 401), (-299, 202), (299, 202), (302, 401)])
async def test_a_signature_holds_for_five_minutes(server: Protected, kind: HookKind, seconds: int, status: int) -> None:
    await a_hook(server, kind)
    at = server.clock.now + timedelta(seconds=seconds)
    assert (await send(server, kind.value, BODY, signed(kind, BODY, at))).status_code == status


@pytest.mark.costly
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"ref": 7}', 422, "INVALID_ARGS"),
        (b'{"nope": "x"}', 422, "INVALID_ARGS"),
        (b"[1]", 422, "INVALID_INPUT"),
        (b"7", 422, "INVALID_INPUT"),
        (b'{"ref"', 422, "INVALID_JSON"),
        (b'{"ref": "a", "ref": "b"}', 422, "INVALID_JSON"),
        (b'{"ref": NaN}', 422, "INVALID_JSON"),
        (b'{"ref": "\\ud800"}', 422, "INVALID_CHARACTER"),
        (b'{"ref": "\\u0000"}', 422, "INVALID_INPUT"),
        (b"\xff", 422, "INVALID_UTF8"),
        (b"[" * 5_000, 422, "LIMIT_JSON_DEPTH"),
        (b" " * (MAX_BODY + 1), 413, "LIMIT_BODY_BYTES"),
    ],
)
async def test_a_payload_that_does_not_fit_is_refused_and_can_be_sent_again(
    server: Protected, stored: Stored, body: bytes, status: int, code: str
) -> None:
    await a_hook(server, HookKind.GITHUB)
    answer = await send(server, "github", body, signed(HookKind.GITHUB, body, server.clock.now))
    assert refused(answer) == (status, code), answer.text
    assert stored.rows(tables.run) == []
    # What is refused is not remembered under the id of its delivery.
    assert (await send(server, "github", BODY, signed(HookKind.GITHUB, BODY, server.clock.now))).status_code == 202


async def test_other_addresses_methods_and_types_are_refused(server: Protected) -> None:
    hook = await a_hook(server, HookKind.BEARER)
    headers = signed(HookKind.BEARER, BODY, server.clock.now)
    assert refused(await send(server, "nope", BODY, headers)) == (404, "NOT_FOUND")
    assert refused(await send(server, "%00", BODY, headers)) == (404, "NOT_FOUND")
    assert refused(await send(server, "x" * 3000, BODY, headers)) == (404, "NOT_FOUND")
    # A page of the dashboard, for those who are signed in.
    assert (await server.browser.get("/hooks/bearer")).status_code == 303
    form = {**headers, "content-type": "application/x-www-form-urlencoded"}
    assert refused(await send(server, "bearer", BODY, form)) == (415, "UNSUPPORTED_MEDIA_TYPE")
    await server.database.write(
        acting, Actor("ada", Role.ADMIN), hooks.update_hook, hook.name, {"enabled": False}, server.keys
    )
    assert refused(await send(server, "bearer", BODY, headers)) == (404, "NOT_FOUND")


async def test_another_body_under_the_same_id_is_refused(server: Protected) -> None:
    await a_hook(server, HookKind.BEARER)
    headers = signed(HookKind.BEARER, BODY, server.clock.now)
    assert (await send(server, "bearer", BODY, headers)).status_code == 202
    assert refused(await send(server, "bearer", b'{"ref": "other"}', headers)) == (422, "IDEMPOTENCY_CONFLICT")


async def test_a_whole_payload_is_one_argument_and_an_event_of_stripe_counts_once(
    server: Protected, stored: Stored
) -> None:
    await a_hook(server, HookKind.STRIPE, argument="event")
    for _ in range(2):
        body = json.dumps({"id": "evt_1", "type": "charge.succeeded"}).encode()
        # Stripe signs each try with its own time, and has no header for the id.
        headers = signed(HookKind.STRIPE, body, server.clock.now)
        del headers["Idempotency-Key"]
        assert (await send(server, "stripe", body, headers)).status_code == 202
        server.clock.pass_time(seconds=60)
    (run,) = stored.rows(tables.run)
    assert run.args == {"event": {"id": "evt_1", "type": "charge.succeeded"}}


async def test_secrets_are_exchanged_without_a_gap(server: Protected) -> None:
    hook = await a_hook(server, HookKind.BEARER)
    ada = Actor("ada", Role.ADMIN)
    await server.database.write(acting, ada, set_secret, "next", "the-next-secret-of-it", server.keys)
    both = {"secrets": ("next", "s-bearer")}
    await server.database.write(acting, ada, hooks.update_hook, hook.name, both, server.keys)
    for secret in ("the-next-secret-of-it", SECRETS[HookKind.BEARER]):
        headers = signed(HookKind.BEARER, BODY, server.clock.now, delivery=secret[:5], secret=secret)
        assert (await send(server, "bearer", BODY, headers)).status_code == 202


async def test_a_secret_that_cannot_be_used_is_no_open_door(
    server: Protected, stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    await a_hook(server, HookKind.BEARER)
    sealed = seal(server.keys.newest, "s-bearer", "short", b"n" * NONCE_BYTES)
    await server.database.write(lambda tx: secrets.keep(tx.conn, sealed, tx.now, "an older version"))
    for secret in ("short", "x"):
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "x"}
        assert refused(await send(server, "bearer", BODY, headers)) == (503, "UNAVAILABLE")
    assert "hook 'bearer' cannot judge requests" in caplog.text
    assert stored.rows(tables.run) == []


@pytest.mark.costly
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "a/b"}, InvalidInput),
        ({"name": ""}, InvalidInput),
        ({"job_name": "nope"}, UserError),
        ({"job_name": "graphql_request"}, InvalidInput),
        ({"secrets": ()}, InvalidInput),
        ({"secrets": ("nope",)}, NotFound),
        ({"secrets": ("short",)}, InvalidInput),
        ({"kind": HookKind.STANDARD}, InvalidInput),
        ({"argument": "nope"}, InvalidInput),
    ],
)
async def test_a_hook_that_cannot_work_is_refused(
    server: Protected, changes: dict[str, Any], error: type[Exception]
) -> None:
    await a_hook(server, HookKind.BEARER)
    ada = Actor("ada", Role.ADMIN)
    await server.database.write(acting, ada, set_secret, "short", "too-short", server.keys)
    given: dict[str, Any] = {
        "name": "new", "job_name": "build", "kind": HookKind.BEARER, "secrets": ("s-bearer",), "argument": None,
        "description": "", "enabled": True, **changes,
    }  # fmt: skip
    with pytest.raises(error):
        await server.database.write(acting, ada, hooks.create_hook, hooks.new_hook(**given), server.keys)


async def test_a_secret_of_a_hook_is_not_deleted_by_mistake(server: Protected) -> None:
    await a_hook(server, HookKind.BEARER)
    with pytest.raises(InvalidState, match="is used by the hook 'bearer'"):
        await server.database.write(acting, Actor("ada", Role.ADMIN), delete_secret, "s-bearer")


async def test_a_node_without_the_key_says_so(server: Protected) -> None:
    with pytest.raises(InvalidState, match="is encrypted with the key"):
        await a_hook_without_a_key(server)


async def a_hook_without_a_key(server: Protected) -> None:
    """Create a hook where no key decrypts its secret."""
    await a_hook(server, HookKind.BEARER)
    wanted = hooks.new_hook(
        "new", "build", HookKind.BEARER, secrets=("s-bearer",), argument=None, description="", enabled=True
    )
    await server.database.write(acting, Actor("ada", Role.ADMIN), hooks.create_hook, wanted, KeyRing())


async def test_a_full_queue_is_said_with_a_time_to_come_again(server: Protected, stored: Stored) -> None:
    await a_hook(server, HookKind.BEARER)
    await server.database.write(set_group_cap, "default", cap=Cap(1, WhenFull.REFUSE))
    at = server.clock.now
    assert (await send(server, "bearer", BODY, signed(HookKind.BEARER, BODY, at))).status_code == 202
    answer = await send(server, "bearer", BODY, signed(HookKind.BEARER, BODY, at, "d-2"))
    assert refused(answer) == (429, "QUEUE_FULL")
    assert int(answer.headers["Retry-After"]) > 0
    assert len(stored.rows(tables.run)) == 1
