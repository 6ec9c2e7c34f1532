"""The code of docs/how-to/litestar.md, as it is printed: a node, its API and its dashboard within Litestar."""

import sys
from types import ModuleType
from typing import Any

import httpx
import pytest

from cronograph.jobs.registry import Registry
from tests.docs.blocks import blocks_of
from tests.support.sources import ROOT


@pytest.fixture
def shop(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that the page shows, with a database of the test and a registry of its own."""
    (block,) = blocks_of(ROOT / "docs" / "how-to" / "litestar.md")
    module = ModuleType("shop")
    monkeypatch.setitem(sys.modules, "shop", module)
    words = {
        "postgresql://shop@db/shop": sqlite_url,
        "@job\n": "@job(registry=registry)\n",
        # Else it sets up the logging of the process, and with it of the tests that follow.
        "lifespan=[cron.lifespan]": "lifespan=[cron.lifespan], logging_config=None",
    }
    text = block.text
    for written, meant in words.items():
        text = text.replace(written, meant)
    module.__dict__["registry"] = Registry()
    exec(compile(text, block.document, "exec"), module.__dict__)
    return module


@pytest.mark.costly
async def test_litestar_starts_the_node_passes_the_visitor_on_and_serves_the_dashboard(shop: Any) -> None:
    transport, address = httpx.ASGITransport(app=shop.app), "https://shop.example.com"
    ada = {"x-forwarded-user": "ada"}
    async with shop.app.lifespan(), httpx.AsyncClient(transport=transport, base_url=address) as asking:
        first = int((await asking.post("/pictures/7")).text)
        assert int((await asking.post("/resize", headers=ada)).text) > first
        assert (await asking.post("/resize")).status_code == 500  # the visitor may not
        asked = {"query": "{ viewer { name } }"}
        answer = (await asking.post("/ops/jobs/graphql", json=asked, headers=ada)).json()
        assert answer["data"]["viewer"]["name"] == "ada"
        page = await asking.get("/ops/jobs/", headers=ada)
        assert '<base href="/ops/jobs/"' in page.text
        assert (await asking.get("/ops/jobs/nothing/there.js", headers=ada)).status_code == 404


async def test_a_server_that_sends_no_raw_path_is_understood(shop: Any) -> None:
    said: list[Any] = []

    async def keep(message: Any) -> None:
        said.append(message)

    async def nothing() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
        "root_path": "",
    }
    rest: dict[str, Any] = {"scheme": "http", "path": "/health/live", "client": None, "server": None, "asgi": {}}
    async with shop.cron:
        await shop.cron.below("/ops/jobs/")({**scope, **rest, "http_version": "1.1"}, nothing, keep)
    assert said[0]["status"] == 200
