"""The jobs of the service.

cronograph serve --jobs jobs --database-url sqlite:///saas.db
"""

from pydantic import BaseModel

from cronograph.jobs import Batch, JobContext, Rate, job

WORLD: dict[str, list[str]] = {"databases": [], "names": [], "mails": []}
"""Stands for the outside: yours would call a cloud, a registrar and a mail provider."""


class Mail(BaseModel):
    """A mail; one run of ``send_mail`` is about one."""

    to: str
    subject: str


@job(retries=10)
async def drop_database(name: str) -> None:
    """Undoes ``make_database``; it must bear that there is none."""
    if name in WORLD["databases"]:
        WORLD["databases"].remove(name)


@job(retries=10)
async def release_name(name: str) -> None:
    """Undoes ``register``."""
    WORLD["names"].remove(name)


async def make_database(name: str) -> str:
    """A database of the customer's own."""
    WORLD["databases"].append(name)
    return name


async def register(name: str) -> str:
    """A host name; the registrar refuses some."""
    if name in WORLD["names"]:
        raise ValueError(f"{name} is taken")
    WORLD["names"].append(name)
    return name


@job(retries=1, retry_delay=1, unique_key="provision-{customer_id}", labels_from=["customer_id"])
async def provision(ctx: JobContext, customer_id: int) -> None:
    """All that a customer needs, or nothing of it: what was made is undone, the last thing first."""
    name = f"customer-{customer_id}"
    # Before the step: if a node dies within it, nobody knows whether there is a database.
    await ctx.cleanup("drop", drop_database.run(name))
    await ctx.step("database", make_database, name)
    await ctx.step("name", register, name, cleanup=release_name)
    ctx.enqueue_at_end("send_mail", mails={"to": f"{name}@example.org", "subject": "Welcome"})


@job(unique_key="remind-{customer_id}", labels_from=["customer_id"])
async def remind(ctx: JobContext, customer_id: int) -> None:
    """Says that the trial ends; it is cancelled, or comes later, by the key that follows from its argument."""
    to = f"customer-{customer_id}@example.org"
    ctx.enqueue_at_end("send_mail", mails={"to": to, "subject": "Your trial ends soon"})


@job(batch=Batch(size=100, wait="200ms"), retries=5, rate=Rate(1_000), group="mail")
async def send_mail(mails: list[Mail]) -> list[Exception | None]:
    """One call of the provider for up to 100 mails; each has a record, retries and an end of its own."""
    ends: list[Exception | None] = []
    for mail in mails:
        if mail.to.endswith("@nowhere.example.org"):
            ends.append(LookupError(f"no such mailbox: {mail.to}"))
        else:
            WORLD["mails"].append(f"{mail.to}: {mail.subject}")
            ends.append(None)
    return ends
