"""An agent: a model decides, tools act, a person approves what costs money, and sub-agents do the reading.

cronograph serve --jobs jobs
"""

import asyncio
import os
import smtplib
from collections.abc import AsyncIterator
from email.message import EmailMessage
from typing import Annotated, Any, Literal, Protocol

import httpx
from pydantic import BaseModel, Field

from cronograph.jobs import GIVEN, AnswerPage, JobContext, Rate, Rejected, Result, job, resource

MOST_TURNS = 20
AT_ONCE = 5
"""Sub-agents of one question that run at the same time."""


class Turn(BaseModel):
    """What the model says: an answer, or a tool to use."""

    answer: str | None = None
    tool: Literal["read", "buy"] | None = None
    pages: list[str] = []
    item: str = ""
    euros: int = 0


class Model(Protocol):
    """A language model."""

    async def next(self, history: list[dict[str, Any]]) -> Turn:
        """Decide on the next turn."""
        ...


class Decision(BaseModel):
    """What a person decides about an order."""

    euros: Annotated[int, Field(ge=1, le=500, title="At most", description="In euros")]
    note: Annotated[str, Field(max_length=500)] = ""


class OverHttp:
    """The model behind MODEL_URL, which takes the history and returns a turn."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def next(self, history: list[dict[str, Any]]) -> Turn:
        """Ask for the next turn."""
        answer = await self.client.post(os.environ["MODEL_URL"], json={"history": history})
        return Turn.model_validate_json(answer.raise_for_status().content)


@resource
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """One for the node."""
    async with httpx.AsyncClient(timeout=120) as opened:
        yield opened


@resource
async def model(client: httpx.AsyncClient) -> AsyncIterator[Model]:
    """The model that all runs of the node ask."""
    yield OverHttp(client)


@job(retries=3, retry_delay=1, rate=Rate(10))
async def read_page(url: str, client: httpx.AsyncClient = GIVEN) -> Result:
    """A sub-agent; yours would ask a smaller model for a summary."""
    found = await client.get(url)
    return Result(value=found.raise_for_status().text[:2_000])


@job(retries=10)
async def cancel_order(receipt: str) -> None:
    """Undoes an order."""
    await asyncio.to_thread(mail, f"Please cancel {receipt}", "")


async def order(item: str, euros: int) -> str:
    """Orders something; yours would call a shop, with ``ctx.step_key`` as its idempotency key."""
    return f"order of {item} for {euros} €"


def mail(subject: str, text: str) -> None:
    """Write to the person who watches the agent."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "agent@example.org", "ada@example.org", subject
    message.set_content(text)
    with smtplib.SMTP(os.environ.get("SMTP_HOST", "localhost")) as server:
        server.send_message(message)


@job(retries=5, max_duration="7d")
async def answer(ctx: JobContext, question: str, model: Model = GIVEN) -> Result:
    """Goes on until the model has an answer; each turn and each tool is a step that is never done again."""
    history: list[dict[str, Any]] = [{"question": question}]
    for _ in range(MOST_TURNS):
        turn: Turn = await ctx.step("think", model.next, history)
        if turn.answer is not None:
            return Result(value=turn.answer)
        history.append({"did": turn.tool, "result": await use(ctx, turn)})
    raise RuntimeError(f"no answer after {MOST_TURNS} turns")


async def use(ctx: JobContext, turn: Turn) -> Any:
    """Use a tool; its result."""
    if turn.tool == "read":
        texts = await ctx.run_all(
            [read_page.run(url) for url in turn.pages], return_exceptions=True, max_concurrent=AT_ONCE
        )
        return [text if isinstance(text, str) else f"could not be read: {text}" for text in texts]

    page = AnswerPage(title=f"May I buy {turn.item}?", shows={"Item": turn.item, "Price in euros": turn.euros})

    async def ask() -> None:
        address = await ctx.signal_url("bought", Decision, page=page)
        await asyncio.to_thread(mail, f"May I buy {turn.item}?", address)

    await ctx.step("ask", ask)
    try:
        decision = await ctx.wait_for("bought", Decision, timeout="2d", on_timeout="reject")
    except Rejected as error:
        return f"not bought: {error}"
    return await ctx.step("buy", order, turn.item, min(turn.euros, decision.euros), cleanup=cancel_order)
