"""The agent by the clock of the testing kit: a model that is a list of turns, no node, no mail server."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

import jobs
from cronograph.jobs.testing import Queue, drain
from jobs import Model, Turn, answer


class Script:
    """A model that says what a test wants; it fails where the test says so."""

    def __init__(self, *turns: Turn | Exception) -> None:
        self.turns = list(turns)
        self.seen: list[list[dict[str, Any]]] = []

    async def next(self, history: list[dict[str, Any]]) -> Turn:
        """Return the next turn."""
        self.seen.append([*history])
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn


@pytest.fixture
def mails(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Subjects and texts of what the agent wrote."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(jobs, "mail", lambda subject, text: sent.append((subject, text)))
    return sent


def page(request: httpx.Request) -> httpx.Response:
    """The web, as far as the tests need it."""
    host = request.url.host
    return httpx.Response(404) if host.startswith("gone") else httpx.Response(200, text=f"text of {host}")


def played(script: Script, story: Callable[[Queue], Coroutine[Any, Any, None]]) -> None:
    """Tell a story on a queue whose model follows the script."""

    async def play() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(page))
        async with client, Queue(resources={Model: script, httpx.AsyncClient: client}) as queue:
            await story(queue)

    asyncio.run(play())


BUY = Turn(tool="buy", item="a lamp", euros=80)


def test_no_turn_is_paid_twice_although_the_model_was_away(mails: list[tuple[str, str]]) -> None:
    script = Script(BUY, ConnectionError("away"), Turn(answer="done"))

    async def story(queue: Queue) -> None:
        run = await queue.enqueue(answer, {"question": "light?"})
        began = queue.clock.now()
        await queue.step()
        ((subject, address),) = mails
        assert subject == "May I buy a lamp?"
        await queue.signal_by_url(address, {"euros": 50})
        await drain(queue)
        done = await queue.run(run)
        assert (done.run.result, done.run.failures, queue.clock.now() > began) == ("done", 1, True)
        # The turn before the failure was not asked for again.
        assert [len(one) for one in script.seen] == [1, 2, 2]
        assert script.seen[-1][1] == {"did": "buy", "result": "order of a lamp for 50 €"}

    played(script, story)


def test_who_watches_may_say_no(mails: list[tuple[str, str]]) -> None:
    script = Script(BUY, Turn(answer="no lamp"))

    async def story(queue: Queue) -> None:
        run = await queue.enqueue(answer, {"question": "light?"})
        await queue.step()
        await queue.signal_by_url(mails[0][1], reject="too bright")
        await drain(queue)
        assert (await queue.run(run)).run.result == "no lamp"
        assert script.seen[-1][1]["result"] == "not bought: too bright"

    played(script, story)


def test_sub_agents_read_and_one_that_fails_is_part_of_the_answer() -> None:
    script = Script(Turn(tool="read", pages=["https://a.example", "https://gone.example"]), Turn(answer="read"))

    async def story(queue: Queue) -> None:
        run = await queue.enqueue(answer, {"question": "news?"})
        await drain(queue)
        assert (await queue.run(run)).run.result == "read"
        first, second = script.seen[-1][1]["result"]
        assert first == "text of a.example"
        assert second.startswith("could not be read: ")

    played(script, story)


def test_what_was_bought_is_cancelled_when_the_agent_fails_for_good(mails: list[tuple[str, str]]) -> None:
    script = Script(BUY, *[ConnectionError("away")] * 6)

    async def story(queue: Queue) -> None:
        run = await queue.enqueue(answer, {"question": "light?"})
        await queue.step()
        await queue.signal_by_url(mails[0][1], {"euros": 80})
        await drain(queue)
        assert (await queue.run(run)).state == "failed"
        assert mails[-1] == ("Please cancel order of a lamp for 80 €", "")

    played(script, story)
