"""The dashboard's files and pages: which path gives what, with which headers."""

import gzip
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from cronograph.server.http.pages import FOR_EVER, POLICY, Site, static_routes
from cronograph.server.http.security import KnownHost, SecurityHeaders


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as the build of the dashboard leaves it."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>dashboard")
    (folder / "graphiql.html").write_text("<!doctype html>explorer")
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "assets" / "index-abc123.js").write_text("export {}")
    (folder / "assets" / "large-abc123.js").write_text("export const large = 1")
    (folder / "assets" / "large-abc123.js.gz").write_bytes(gzip.compress(b"export const large = 1"))
    (folder / "assets" / "large-abc123.js.br").write_bytes(b"as brotli has it")
    (tmp_path / "secret.txt").write_text("not for the web")
    return folder


def client_of(folder: Path, root: str = "") -> httpx.AsyncClient:
    app = Starlette(
        routes=static_routes(Site(folder)),
        middleware=[Middleware(SecurityHeaders), Middleware(KnownHost, hosts={"localhost", "[::1]"})],
    )
    app.router.redirect_slashes = False
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, root_path=root), base_url="http://localhost:8000")


@pytest.fixture
def client(built: Path) -> httpx.AsyncClient:
    return client_of(built)


@pytest.mark.parametrize(
    "path", ["/", "/tasks", "/tasks/nightly.report", "/runs", "/log/42", "/jobs", "/groups", "/nodes"]
)
async def test_every_path_of_the_dashboard_is_its_page(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.text) == (200, "<!doctype html>dashboard")
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_explorer_may_do_no_more_than_the_dashboard(client: httpx.AsyncClient) -> None:
    answer = await client.get("/graphiql")
    assert answer.text == "<!doctype html>explorer"
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY


@pytest.mark.parametrize("root", ["", "/ops"])
async def test_what_the_build_wrote_into_a_page_is_allowed_by_its_hash(built: Path, root: str) -> None:
    style, script = "a { color: red }", 'document.title = "x";\nnext()'
    head = f"<style>{style}</style><script>{script}</script><script type=module src=a.js></script>"
    (built / "index.html").write_text(f'<base href="/" />{head}')
    async with client_of(built, root) as client:
        policy = (await client.get("/tasks")).headers["content-security-policy"]
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert f"script-src 'self' 'sha256-{hashes[0]}';" in policy
    assert f"style-src 'self' 'sha256-{hashes[1]}';" in policy
    assert policy.count("sha256-") == 2


async def test_a_file_of_which_only_the_smaller_forms_are_kept_is_unpacked(
    built: Path, client: httpx.AsyncClient
) -> None:
    (built / "assets" / "large-abc123.js").unlink()
    for accepted, text in (("identity", "export const large = 1"), ("gzip", "export const large = 1")):
        answer = await client.get("/assets/large-abc123.js", headers={"Accept-Encoding": accepted})
        assert (answer.status_code, answer.text) == (200, text)
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["cache-control"] == FOR_EVER
        assert answer.headers["vary"] == "Accept-Encoding"
    assert (await client.get("/../secret.txt", headers={"Accept-Encoding": "identity"})).status_code == 404


async def test_files_with_a_hash_in_their_name_are_kept_for_ever(client: httpx.AsyncClient) -> None:
    answer = await client.get("/assets/index-abc123.js")
    assert answer.headers["cache-control"] == FOR_EVER
    assert answer.headers["content-type"].startswith("text/javascript")


async def test_other_files_are_asked_for_again_and_not_sent_twice(client: httpx.AsyncClient) -> None:
    first = await client.get("/icon.svg")
    again = await client.get("/icon.svg", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    assert first.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip;q=0.5", "gzip"), ("identity", None), ("", None)],
)
async def test_the_smallest_form_that_the_build_made_and_the_client_takes_is_sent(
    client: httpx.AsyncClient, accepted: str, coding: str | None
) -> None:
    async with client.stream("GET", "/assets/large-abc123.js", headers={"Accept-Encoding": accepted}) as answer:
        sent = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["content-type"].startswith("text/javascript")
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("Accept-Encoding", FOR_EVER)
    plain = b"export const large = 1"
    assert {"br": sent == b"as brotli has it", "gzip": sent[:2] == b"\x1f\x8b", None: sent == plain}[coding]


async def test_a_file_without_smaller_forms_is_sent_as_it_is(client: httpx.AsyncClient) -> None:
    answer = await client.get("/assets/index-abc123.js", headers={"Accept-Encoding": "br"})
    assert (answer.text, answer.headers.get("content-encoding")) == ("export {}", None)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/large-abc123.js.br",
        "/assets/large-abc123.js.gz",
        "/index.html",
        "/nope",
        "/assets/gone-1.js",
        "/assets",
        "/tasksx",
        "/.git/config",
        "/%00",
    ],
)
async def test_a_path_with_nothing_behind_it_says_so(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.text.startswith("Nothing is at ")


@pytest.mark.parametrize("path", ["/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt"])
async def test_nothing_outside_the_folder_is_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert "not for the web" not in answer.text


async def test_pages_are_only_read(client: httpx.AsyncClient) -> None:
    assert (await client.post("/")).status_code == 405


async def test_every_answer_forbids_framing_and_sniffing(client: httpx.AsyncClient) -> None:
    for path in ("/", "/nope", "/assets/index-abc123.js"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


async def test_without_a_built_dashboard_the_page_says_how_to_build_it(tmp_path: Path) -> None:
    client = client_of(tmp_path / "missing")
    for path in ("/", "/tasks/x", "/graphiql"):
        answer = await client.get(path)
        assert answer.status_code == 503
        assert "The dashboard is not built" in answer.text
        assert "pip install" in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "[::1]:8000", "LOCALHOST"])
async def test_the_names_of_this_server_are_accepted_at_any_port(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::2]", "x" * 5000]
)
async def test_a_foreign_name_that_leads_here_is_refused(client: httpx.AsyncClient, host: str) -> None:
    answer = await client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert len(answer.text) < 300
