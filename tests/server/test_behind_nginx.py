"""A real nginx in front of a real server, configured as docs/how-to/proxy.md says: what it forwards is believed."""

import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import create_connection

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.db.database import Database
from tests.server.auth.serving import PASSWORD, hashed
from tests.server.test_exposure import NAME, TLS
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

PROGRAM = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "proxy.md"
SESSIONS = "{ viewer { name sessions { address } } }"
SETTINGS = """
daemon off; master_process off; pid {folder}/pid; error_log stderr warn;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {tls_cert}; ssl_certificate_key {tls_key};
    # The proxy has an address of its own, which is the only trusted one.
    proxy_bind 127.0.0.2;
{location}
  }}
}}
"""


@contextmanager
def nginx(folder: Path, target: int) -> Generator[int]:
    """nginx in front of a server of this machine; its port."""
    if PROGRAM is None:
        unavailable("nginx", "as root, apt-get install nginx-light")
    documented = re.search(r"```nginx.*?\n(location .*?\n\}\n)```", DOCUMENT.read_text(), re.DOTALL)
    assert documented is not None, "the documents show how to run behind nginx"
    location = documented[1].replace("127.0.0.1:8000", f"127.0.0.1:{target}")
    port, config = free_port(), folder / "nginx.conf"
    config.write_text(SETTINGS.format(folder=folder, port=port, location=location, **TLS))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([PROGRAM, "-p", str(folder), "-c", str(config)], stdout=log, stderr=log)
    try:
        wait_until(lambda: answers(port), message="nginx answers")
        yield port
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    try:
        with browser(port) as client:
            return client.get("/health/live").status_code == 200
    except httpx.ConnectError:
        return False


def browser(port: int) -> httpx.Client:
    """Return what opens the public address, which leads to a port of this machine."""
    headers = {"host": "cron.example.com"}
    return httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=False, trust_env=False, headers=headers)


@pytest.mark.costly
def test_nginx_in_front_says_who_asks_how_and_by_which_name(
    processes: ProcessStarter, sqlite_url: str, tmp_path: Path
) -> None:
    database = Database(sqlite_url)
    database.write_sync(partial(add_account, name="ada", role=Role.ADMIN, password_hash=hashed()))
    database.close_sync()
    behind = ["--trusted-proxies", "127.0.0.2", "--public-url", NAME]
    server = processes.begin_serve(sqlite_url, *behind, auth=True)
    wait_until(lambda: f"is ready: {NAME}" in server.output(), message="the server is ready")
    with nginx(tmp_path, server.port) as port, browser(port) as client:
        fields = {"name": "ada", "password": PASSWORD}
        lie = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "http", "x-forwarded-host": "evil.example"}
        signed_in = client.post("/auth/password", json=fields, headers={"origin": NAME, **lie})
        assert signed_in.status_code == 200, signed_in.text
        cookie = signed_in.headers["set-cookie"]
        assert cookie.startswith("__Host-cronograph=cgs_")
        assert "Secure" in cookie
        shown = {"cookie": cookie.partition(";")[0]}
        viewer = client.post("/graphql", json={"query": SESSIONS}, headers=shown).json()["data"]["viewer"]
        assert viewer == {"name": "ada", "sessions": [{"address": "127.0.0.1"}]}
        client.cookies.clear()
        assert client.get("/tasks").headers["location"] == "/login?next=/tasks"
        refused = client.post("/auth/password", json=fields, headers={"origin": "https://evil.example"})
        assert refused.status_code == 403
        assert who_by_websocket(port, shown, NAME) == "ada"
        with pytest.raises(InvalidStatus):
            who_by_websocket(port, shown, "https://evil.example")
    # Past the proxy, nobody is believed.
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as direct:
        lie = {"host": "cron.example.com", "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}
        answer = direct.post("/auth/password", json=fields, headers=lie)
        shown = {"cookie": answer.headers["set-cookie"].partition(";")[0], "host": "cron.example.com"}
        viewer = direct.post("/graphql", json={"query": SESSIONS}, headers=shown).json()["data"]["viewer"]
        assert {one["address"] for one in viewer["sessions"]} == {"127.0.0.1"}
    assert server.stop() == 0


def who_by_websocket(port: int, headers: dict[str, str], origin: str) -> str:
    """Return who one is on a WebSocket through the proxy, by the cookie of a page of some origin."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with connect(
        f"wss://cron.example.com:{port}/graphql",
        sock=create_connection(("127.0.0.1", port)),
        ssl=trusting,
        origin=Origin(origin),
        additional_headers=headers,
        subprotocols=[Subprotocol("graphql-transport-ws")],
        proxy=None,
    ) as socket:
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv())["type"] == "connection_ack"
        socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": SESSIONS}}))
        answer = json.loads(socket.recv())
        return str(answer["payload"]["data"]["viewer"]["name"])
