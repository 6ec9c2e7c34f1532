"""A day of signing in and out leaves rows behind; the cleanups delete just these, and say how many of each."""

from datetime import timedelta

from sqlalchemy import Connection, func, select, update

from cronograph.jobs.accounts.statements.audit import verify
from cronograph.jobs.base.services import Services
from cronograph.jobs.builtin.prune import (
    Retention,
    cleanup_expired_challenges,
    cleanup_expired_device_codes,
    cleanup_expired_refresh_tokens,
    cleanup_expired_sessions,
    prune,
)
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import (
    api_token,
    audit_log,
    device_code,
    login_throttle,
    one_time_link,
    refresh_token,
    session,
    webauthn_challenge,
)
from tests.builtin.hosts import KeepingHost, context_of
from tests.server.auth.serving import PASSWORD, Protected
from tests.server.auth.test_devices import Device

TABLES = (session, api_token, login_throttle, one_time_link, webauthn_challenge, device_code, refresh_token)
OVER = "deleted what is over"


def counts(conn: Connection) -> dict[str, int]:
    return {table.name: conn.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES}


async def a_day_of_use(server: Protected) -> None:
    """Signs in by password, link and device, some of it in vain, and leaves."""
    await server.account("boss", Role.ADMIN)
    await server.account("ada")
    boss = await server.token("boss")
    for _ in range(3):
        await server.sign_in_as("ada", "wrong")
    await server.sign_in_as("nobody", "wrong")
    recovery = 'mutation { updateAccount(input: {name: "ada", recovery: true}) { recoveryPath } }'
    path = (await server.ask(recovery, boss)).json()["data"]["updateAccount"]["recoveryPath"]
    await server.browser.post("/recover", data={"token": path.partition("token=")[2], "password": PASSWORD})
    await server.ask(recovery, boss)
    await server.sign_in_as("ada")
    device = Device(server)
    tokens = await device.sign_in()
    for _ in range(3):
        server.clock.pass_time(minutes=14)
        tokens = (await device.refresh(tokens["refresh_token"])).json()
    for _ in range(2):
        await device.begin()
    await server.ask("mutation { revokeApiToken(input: {id: 2}) { errors { code } } }", boss)
    assert (await server.browser.post("/auth/passkey/challenge")).status_code == 200


async def test_the_cleanups_delete_what_a_day_of_use_left_behind(server: Protected) -> None:
    await server.account("robot")
    await a_day_of_use(server)
    before = await server.database.read(counts)
    assert before == {
        "session": 2,
        "api_token": 1,
        "login_throttle": before["login_throttle"],
        "one_time_link": 2,
        "webauthn_challenge": 1,
        "device_code": 3,
        "refresh_token": 4,
    }
    assert before["login_throttle"] >= 2
    expected = {
        cleanup_expired_sessions: {"sessions": 1, "tokens": 0, "failures": before["login_throttle"]},
        cleanup_expired_challenges: {"challenges": 1, "links": 2, "attempts": 0},
        cleanup_expired_device_codes: {"device_codes": 3},
        cleanup_expired_refresh_tokens: {"tokens": 0},
    }
    server.clock.pass_time(hours=25)
    for job, deleted in expected.items():
        host = KeepingHost()
        assert await job(context_of(job, Services(server.database), host)) == sum(deleted.values())
        assert host.lines == ([("INFO", OVER, deleted)] if any(deleted.values()) else [])
    # What the command line signed in with lasts a month, and then goes too.
    left = await server.database.read(counts)
    assert {name: number for name, number in left.items() if number} == {
        "session": 1,
        "api_token": 1,
        "refresh_token": 4,
    }
    server.clock.pass_time(days=31)
    for job in expected:
        await job(context_of(job, Services(server.database), KeepingHost()))
    left = await server.database.read(counts)
    assert {name: number for name, number in left.items() if number} == {"api_token": 1}


async def test_tokens_that_ended_a_month_ago_go(server: Protected) -> None:
    await server.account("ada")
    await server.token("ada", lasts=timedelta(days=1))
    revoked = await server.token("ada")
    await server.token("ada")
    await server.ask('mutation { revokeApiToken(input: {id: "2"}) { errors { code } } }', revoked)
    job = cleanup_expired_sessions
    for days, deleted in ((30, 0), (2, 2)):
        server.clock.pass_time(days=days)
        assert await job(context_of(job, Services(server.database), KeepingHost())) == deleted


async def test_the_audit_log_stays_provable_when_its_oldest_entries_go(server: Protected) -> None:
    for name in ("ada", "bob", "eve"):
        await server.account(name)
        await server.sign_in_as(name)
        server.clock.pass_time(days=100)
    whole = await server.database.read(verify)
    assert (whole.fault, whole.entries) == (None, 3)
    pruned = await prune(server.database, Retention(max_audit_age=timedelta(days=150)))
    assert pruned.audit_entries == 2
    rest = await server.database.read(verify)
    assert (rest.fault, rest.entries, rest.newest) == (None, 1, whole.newest)
    await server.sign_in_as("ada")
    assert (await server.database.read(verify)).fault is None

    def tamper(tx: Tx) -> None:
        tx.conn.execute(update(audit_log).values(actor="somebody else"))

    await server.database.write(tamper)
    assert (await server.database.read(verify)).fault is not None


async def test_an_audit_log_without_entries_is_pruned_to_nothing(light: Protected) -> None:
    assert (await prune(light.database, Retention())).audit_entries == 0
