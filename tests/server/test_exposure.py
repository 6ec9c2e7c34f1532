"""Who may reach the server: others than this machine only with TLS, a name and an administrator."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.store.db.database import Database
from cronograph.server.configuration.settings import Settings
from cronograph.server.http.forwarded import ForwardedHeaders, OnlyOverTls, parse_networks
from cronograph.server.preparation import check_administrator, faults_of
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

CERTIFICATES = Path(__file__).parents[1] / "builtin" / "certificates"
TLS: dict[str, Any] = {"tls_cert": CERTIFICATES / "certificate.pem", "tls_key": CERTIFICATES / "key.pem"}
WHO = "{ viewer { name role } }"
NAME = "https://cron.example.com"


def faults(**given: Any) -> str:
    return "\n".join(faults_of(Settings(**given)))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"host": "127.0.0.1", "no_auth": True},
        {"trusted_proxies": "127.0.0.1", "public_url": NAME},
        {"host": "0.0.0.0", "public_url": NAME, **TLS},
        {"host": "::", "public_url": NAME, "trusted_proxies": "10.0.0.0/8, fd00::/8"},
    ],
)
def test_what_is_safe_is_accepted(given: dict[str, Any]) -> None:
    assert faults(**given) == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "0.0.0.0"}, "needs TLS: set --tls-cert and --tls-key, or --trusted-proxies"),
        ({"host": "192.0.2.7", **TLS}, "needs --public-url"),
        ({"host": "0.0.0.0", "no_auth": True, "public_url": NAME, **TLS}, "no_auth: must not be set where others"),
        ({"no_auth": True, "trusted_proxies": "127.0.0.1"}, "no_auth: must not be set where others"),
        ({"tls_cert": "x.pem"}, "tls_cert and tls_key: must be set both or neither"),
        ({"tls_cert": "x.pem", "tls_key": "y.pem"}, "must be a certificate and its key in PEM form, got 'x.pem'"),
        ({"trusted_proxies": "10.0.0.1/8"}, "trusted_proxies: must be addresses or networks"),
        ({"public_url": "http://cron.example.com"}, "public_url: must begin with https://"),
        ({"public_url": "https://cron.example.com/app"}, "public_url: must be an address without a path"),
        ({"public_url": f"{NAME}/app"}, "or mount it in your application (cronograph.server.Cronograph)"),
        ({"public_url": "https://ada:hunter2@cron.example.com"}, "got 'https://ada:***@cron.example.com'"),
        ({"public_url": "https://x.example.com/?token=hunter2"}, "got 'https://x.example.com/?token=***'"),
        ({"public_url": "cron.example.com"}, "public_url: must be an address without a path"),
        ({"public_url": "https://[x"}, "public_url: must be an address without a path"),
        ({"host": "no.such.host.invalid"}, "host: must be a name or address of this machine"),
    ],
)
def test_what_is_not_is_refused_naming_what_to_set(given: dict[str, Any], words: str) -> None:
    assert words in faults(**given)


@pytest.mark.costly
async def test_a_server_for_others_needs_an_administrator_first(empty_database_url: str) -> None:
    settings = Settings(host="0.0.0.0", database_url=empty_database_url)
    with pytest.raises(ConfigurationError, match="needs an administrator: make one by `cronograph user add"):
        check_administrator(settings)
    check_administrator(Settings(host="localhost", database_url=empty_database_url))
    check_administrator(Settings(host="0.0.0.0", setup_public=True, database_url=empty_database_url))
    database = Database(empty_database_url)
    await database.write(add_account, "ada", Role.ADMIN)
    await database.close()
    check_administrator(settings)


async def seen(request: Request) -> JSONResponse:
    client = request.client.host if request.client else None
    return JSONResponse([request.url.scheme, request.headers["host"], client])


@pytest.fixture
def behind() -> Any:
    """An application behind a proxy in 10.0.0.0/8; asked from an address."""
    proxies = parse_networks(["10.0.0.0/8"])
    app = Starlette(
        routes=[Route("/{path:path}", seen)],
        middleware=[Middleware(ForwardedHeaders, proxies=proxies), Middleware(OnlyOverTls)],
    )

    async def ask(address: str, path: str = "/", **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(address, 1234))
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx.AsyncClient(transport=transport, base_url="http://inner") as client:
            return await client.get(path, headers=named)

    return ask


SAID = {"x_forwarded_proto": "https", "x_forwarded_host": "cron.example.com", "x_forwarded_for": "192.0.2.7"}


async def test_a_trusted_proxy_says_scheme_host_and_client(behind: Any) -> None:
    assert (await behind("10.1.2.3", **SAID)).json() == ["https", "cron.example.com", "192.0.2.7"]


async def test_what_others_say_about_themselves_is_not_believed(behind: Any) -> None:
    answer = await behind("203.0.113.9", **SAID)
    assert (answer.status_code, answer.text) == (403, "This server is used over https only, through its proxy.\n")


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("1.1.1.1, 192.0.2.7", "192.0.2.7"),
        ("1.1.1.1, 192.0.2.7, 10.9.9.9", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("nonsense", "10.1.2.3"),
        ("10.9.9.9", "10.1.2.3"),
        ("x" * 5000, "10.1.2.3"),
    ],
)
async def test_the_client_is_the_last_that_is_no_proxy(behind: Any, chain: str, client: str) -> None:
    answer = await behind("10.1.2.3", x_forwarded_proto="https", x_forwarded_for=chain)
    assert answer.json()[2] == client


async def test_plain_http_from_elsewhere_reaches_only_the_health(behind: Any) -> None:
    assert (await behind("10.1.2.3")).status_code == 403
    assert (await behind("10.1.2.3", "/health/live")).status_code == 200
    assert (await behind("127.0.0.1")).status_code == 200


def test_a_server_with_tls_is_reached_by_its_name_and_gives_host_cookies(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    add = ["user", "add", "ada", "--role", "admin", "--database-url", sqlite_url]
    refused = processes.run("serve", "--database-url", sqlite_url, "--host", "0.0.0.0", *arguments_of_tls())
    assert (refused[0], "needs an administrator" in refused[1]) == (2, True)
    assert processes.run(*add)[0] == 0
    token = processes.run("token", "create", "--user", "ada", "--database-url", sqlite_url)[1].strip()
    server = processes.begin_serve(sqlite_url, "--host", "0.0.0.0", *arguments_of_tls(), auth=True)
    wait_until(lambda: "is ready: https://cron.example.com" in server.output(), message="the server is ready")
    with httpx.Client(base_url=f"https://127.0.0.1:{server.port}", verify=False, trust_env=False) as client:
        named = {"host": "cron.example.com"}
        assert client.post("/graphql", json={"query": WHO}, headers=named).status_code == 401
        answer = client.post("/graphql", json={"query": WHO}, headers={**named, "authorization": f"Bearer {token}"})
        assert answer.json()["data"]["viewer"] == {"name": "ada", "role": "ADMIN"}
        assert client.get("/login", headers={"host": "evil.example"}).status_code == 421
        assert client.get("/tasks", headers=named).headers["location"] == "/login?next=/tasks"
    assert server.stop() == 0


def arguments_of_tls() -> list[str]:
    return ["--tls-cert", str(TLS["tls_cert"]), "--tls-key", str(TLS["tls_key"]), "--public-url", NAME]
