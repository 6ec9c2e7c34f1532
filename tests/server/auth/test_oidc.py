"""Sign-in by a provider: a real one lets its people in, and answers that are not good in every point are refused."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, select

from cronograph.graphql.execution.schema_factory import GuardedSchema
from cronograph.jobs.accounts.actions import accounts
from cronograph.jobs.accounts.rules.accounts import role_of
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import audit_log, provider_identity, session, user_account
from cronograph.server.configuration.settings import ProviderSettings
from tests.server.auth.devices import encoded
from tests.server.auth.providers import ACCESS_TOKEN, SECRET, Liar, RealProvider, liar, real_provider
from tests.server.auth.serving import Protected, protected
from tests.server.auth.test_account_api import asked
from tests.server.auth.test_signing_in import WAYS_OFF_THE_SITE, WHO, rows
from tests.support.ports import free_port

ROLES = {Role.ADMIN: ("chiefs",), Role.OPERATOR: ("ops", "chiefs")}


def settings(issuer: str, **more: Any) -> ProviderSettings:
    """A provider in the configuration."""
    values = {"name": "Company & Sons", "issuer": issuer, "client_id": "cronograph", "client_secret": SECRET, **more}
    return ProviderSettings.model_validate(values)


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    """Of this server and of the provider: each has to know the other's."""
    return free_port(), free_port()


@pytest.fixture(scope="module")
def provider(ports: tuple[int, int]) -> Iterator[RealProvider]:
    """The real provider, for all tests of the module."""
    with real_provider(ports[1], f"http://localhost:{ports[0]}/auth/oidc/company/callback") as started:
        yield started


@pytest.fixture
async def known(
    provider: RealProvider, ports: tuple[int, int], schema: GuardedSchema, database_url: str
) -> AsyncIterator[Protected]:
    """A server whose provider maps groups to roles and lets new people sign up."""
    providers = {"company": settings(provider.issuer, roles=ROLES, sign_up=True)}
    async with protected(database_url, schema, providers, ports[0]) as started:
        yield started


async def visit(server: Protected, path: str) -> httpx.Response:
    """Open an address as a browser with an empty cookie jar for the provider does, until it is back on this site."""
    answer = await server.browser.get(path)
    async with httpx.AsyncClient(trust_env=False, timeout=30) as elsewhere:
        while answer.is_redirect and not answer.headers["location"].startswith((server.url, "/")):
            answer = await elsewhere.get(answer.headers["location"])
            while answer.is_redirect and f":{server.port}/" not in answer.headers["location"]:
                answer = await elsewhere.get(str(answer.request.url.join(answer.headers["location"])))
        return answer


async def through(server: Protected, path: str = "/auth/oidc/company?next=/tasks") -> httpx.Response:
    """Sign in at the provider and come back: the last answer of this site."""
    back = await visit(server, path)
    assert back.is_redirect, back.text
    return await server.browser.get(back.headers["location"])


def failures(conn: Connection) -> list[str]:
    failed = select(audit_log.c.after).where(audit_log.c.action == "sign_in.failed")
    return list(conn.execute(failed.order_by(audit_log.c.id)).scalars())


@pytest.mark.costly
async def test_people_of_a_real_provider_sign_up_sign_in_and_have_the_role_that_it_gives(
    known: Protected, provider: RealProvider
) -> None:
    page = await known.browser.get("/login?next=/tasks")
    assert '<a class="way" href="auth/oidc/company?next=%2Ftasks">Sign in with Company &amp; Sons</a>' in page.text
    provider.visited_by("sub-1", preferred_username="Ada", groups=["staff", "ops"])
    answer = await through(known)
    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks")
    assert (await asked(known, WHO)) == {"name": "Ada", "role": "OPERATOR"}
    # The same person with another name and a higher role, in another browser.
    known.browser.cookies.clear()
    provider.visited_by("sub-1", preferred_username="Ada Lovelace", groups=["chiefs"])
    assert (await through(known)).status_code == 303
    assert (await asked(known, WHO)) == {"name": "Ada", "role": "ADMIN"}
    # Demoted, but nobody else can administrate.
    known.browser.cookies.clear()
    provider.visited_by("sub-1", preferred_username="Ada", groups=["ops"])
    answer = await through(known)
    assert (answer.status_code, "last administrator" in answer.text) == (403, True)
    # Another person of that name, one without a role, one who says no, and a disabled one.
    provider.visited_by("sub-2", preferred_username="ADA", groups=["ops"])
    answer = await through(known)
    assert (answer.status_code, "exists already" in answer.text) == (403, True)
    provider.visited_by("sub-3", preferred_username="Eve", groups=["staff"])
    answer = await through(known)
    assert (answer.status_code, "gives you no role" in answer.text) == (403, True)
    provider.visited_by("sub-3", refuses=True)
    answer = await through(known)
    assert (answer.status_code, "Company &amp; Sons refused: access_denied" in answer.text) == (401, True)
    await known.account("boss", Role.ADMIN)
    await known.database.write(accounts.disable, "Ada")
    provider.visited_by("sub-1", groups=["chiefs"])
    assert (await through(known)).status_code == 403
    codes = ["LAST_ADMINISTRATOR", "ALREADY_EXISTS", "NO_ROLE", "PROVIDER_REFUSED", "ACCOUNT_DISABLED"]
    assert await known.database.read(failures) == [f'{{"by": "company", "code": "{code}"}}' for code in codes]
    assert await known.database.read(rows, user_account) == 2


@pytest.mark.costly
async def test_an_account_is_connected_by_who_has_signed_in_and_no_way_is_the_last_that_is_taken(
    known: Protected, provider: RealProvider
) -> None:
    await known.account("ada", Role.OPERATOR)
    await known.account("eve", Role.OPERATOR)
    provider.visited_by("sub-9", preferred_username="whoever", groups=["ops"])
    connect = "/auth/oidc/company?connect=1&next=/account"
    assert (await known.browser.get(connect)).status_code == 401
    await known.sign_in_as("ada")
    assert (await known.browser.get(connect, headers={"sec-fetch-site": "cross-site"})).status_code == 403
    assert (await through(known, connect)).headers["location"] == "/account"
    listed = (await asked(known, "{ viewer { identities { id provider issuer subject } } }"))["identities"]
    assert listed == [{"id": "1", "provider": "company", "issuer": provider.issuer, "subject": "sub-9"}]
    known.browser.cookies.clear()
    assert (await through(known)).status_code == 303
    assert (await asked(known, WHO)) == {"name": "ada", "role": "OPERATOR"}
    # Nobody else gets it, and anyone who is signed in when the answer comes must be who asked.
    await known.sign_in_as("eve")
    assert "connected to an account already" in (await through(known, connect)).text
    back = await visit(known, connect)
    await known.sign_in_as("ada")
    assert (await known.browser.get(back.headers["location"])).status_code == 401
    disconnect = "mutation { deleteIdentity(input: {id: 1}) { identity { provider } errors { code } } }"
    assert (await asked(known, disconnect)) == {"identity": {"provider": "company"}, "errors": []}
    assert (await asked(known, disconnect))["errors"] == [{"code": "NOT_FOUND"}]
    provider.visited_by("sub-10", preferred_username="Zoe", groups=["ops"])
    assert (await through(known)).status_code == 303
    (only,) = (await asked(known, "{ viewer { identities { id } } }"))["identities"]
    assert (await asked(known, disconnect.replace("1", only["id"])))["errors"] == [{"code": "LAST_WAY_IN"}]
    assert await known.database.read(rows, provider_identity) == 1


async def test_an_answer_is_good_once_in_the_browser_that_began_for_ten_minutes(
    known: Protected, provider: RealProvider
) -> None:
    provider.visited_by("sub-1", preferred_username="Ada", groups=["ops"])
    back = (await visit(known, "/auth/oidc/company")).headers["location"]
    cookies = dict(known.browser.cookies)
    known.browser.cookies.clear()
    assert (await known.browser.get(back)).status_code == 401
    known.browser.cookies.update(cookies)
    spoilt = back.replace("state=", "state=x")
    assert (await known.browser.get(spoilt)).status_code == 401
    assert (await known.browser.get(back)).status_code == 303
    assert (await known.browser.get(back)).status_code == 401
    back = (await visit(known, "/auth/oidc/company")).headers["location"]
    known.clock.pass_time(minutes=10)
    answer = await known.browser.get(back)
    assert (answer.status_code, "begin it again" in answer.text) == (401, True)
    assert await known.database.read(rows, session) == 1


@pytest.mark.costly
async def test_next_never_leaves_the_site_by_way_of_a_provider(known: Protected, provider: RealProvider) -> None:
    provider.visited_by("sub-1", preferred_username="Ada", groups=["ops"])
    for next_path in WAYS_OFF_THE_SITE:
        address = str(httpx.URL("/auth/oidc/company", params={"next": next_path}))
        assert (await through(known, address)).headers["location"] == "/", next_path
    assert (await known.browser.get("/auth/oidc/nobody")).status_code == 404
    assert (await known.browser.get("/auth/oidc/nobody/callback?state=x")).status_code == 404


@asynccontextmanager
async def lied_to(schema: GuardedSchema, url: str, **more: Any) -> AsyncGenerator[tuple[Protected, Liar]]:
    """A server whose provider says what the test wants."""
    async with liar() as made, protected(url, schema, {"liar": settings(made.issuer, **more)}) as server:
        yield server, made


async def answered(server: Protected, made: Liar, **query: str) -> httpx.Response:
    """Begin a sign-in, and come back with a code."""
    begun = await server.browser.get("/auth/oidc/liar")
    assert begun.status_code == 303, begun.text
    made.note(begun.headers["location"])
    params = {"code": "x", "state": made.asked["state"][0], **query}
    return await server.browser.get("/auth/oidc/liar/callback", params=params)


WRONG: tuple[dict[str, object], ...] = (
    {"nonce": "another"},
    {"nonce": None},
    {"iss": "https://evil.example"},
    {"iss": None},
    {"aud": "somebody-else"},
    {"aud": ["somebody-else"], "azp": "cronograph"},
    {"aud": None},
    {"exp": 1_000_000_000},
    {"exp": None},
    {"iat": None},
    {"nbf": 9_000_000_000},
    {"sub": None},
    {"sub": ""},
    {"sub": "x" * 256},
    {"azp": "somebody-else"},
    {"aud": ["cronograph", "somebody-else"]},
    {"aud": ["cronograph", 1], "azp": "cronograph"},
    {"at_hash": "of another access token"},
)


@pytest.mark.costly
async def test_what_is_wrong_in_any_point_is_refused_and_leaves_nothing(schema: GuardedSchema, sqlite_url: str) -> None:
    async with lied_to(schema, sqlite_url, sign_up=True, name_claim="sub") as (server, made):
        for claims in WRONG:
            made.claims = claims
            answer = await answered(server, made)
            assert (answer.status_code, "was refused" in answer.text) == (401, True), claims
        made.claims = {}
        for algorithm in ("none", "HS256"):
            made.algorithm = algorithm
            assert (await answered(server, made)).status_code == 401, algorithm
        made.algorithm = "RS256"
        assert (await answered(server, made, iss="https://evil.example")).status_code == 401
        made.status = 400
        assert (await answered(server, made)).status_code == 401
        made.status = 500
        assert (await answered(server, made)).status_code == 503
        made.status = 200
        assert await server.database.read(rows, user_account) == 0
        assert await server.database.read(rows, session) == 0
        # All right at last; and its new key is asked for.
        made.key = made.key.generate_key(2048, {"kid": "two"})
        made.kid = "two"
        half = sha256(ACCESS_TOKEN.encode()).digest()[:16]
        made.claims = {"aud": ["cronograph", "somebody-else"], "azp": "cronograph", "at_hash": encoded(half)}
        assert (await answered(server, made)).status_code == 303
        assert (await asked(server, WHO)) == {"name": "sub-1", "role": "VIEWER"}


async def test_who_is_not_known_signs_up_only_where_that_is_allowed(schema: GuardedSchema, sqlite_url: str) -> None:
    async with lied_to(schema, sqlite_url) as (server, made):
        answer = await answered(server, made)
        assert (answer.status_code, "Nobody here is known" in answer.text) == (403, True)
        assert await server.database.read(rows, user_account) == 0


async def test_a_provider_that_is_not_what_it_should_be_is_not_used(schema: GuardedSchema, sqlite_url: str) -> None:
    lies: tuple[dict[str, object], ...] = ({"issuer": "https://evil.example"}, {"issuer": None}, {"jwks_uri": None})
    for metadata in lies:
        async with lied_to(schema, sqlite_url) as (server, made):
            made.discovery = metadata
            assert (await server.browser.get("/auth/oidc/liar")).status_code == 503
    gone = {"gone": settings(f"http://localhost:{free_port()}")}
    async with protected(sqlite_url, schema, gone) as server:
        answer = await server.browser.get("/auth/oidc/gone")
        assert (answer.status_code, "cannot be reached just now" in answer.text) == (503, True)


def test_the_highest_role_that_a_claim_gives_is_taken() -> None:
    for claims, expected in (
        ({"groups": ["ops"]}, Role.OPERATOR),
        ({"groups": "chiefs"}, Role.ADMIN),
        ({"groups": ["staff", 1, None]}, None),
        ({"groups": {"ops": True}}, None),
        ({}, None),
    ):
        assert role_of(claims, "groups", ROLES) is expected, claims
    deep = {"realm": {"roles": ["ops"]}}
    assert role_of(deep, "realm.roles", ROLES) is Role.OPERATOR
    assert role_of({"https://a.example/roles": ["ops"]}, "https://a.example/roles", ROLES) is Role.OPERATOR
    assert role_of(deep, "realm.roles.more", ROLES) is None
    assert role_of({}, "groups", {Role.VIEWER: ("*",)}) is Role.VIEWER
