"""The base of commands that speak to a running server: its address, their questions, and reports of refusals."""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import Parameter
from typing import Annotated, Any, Concatenate, Final, ParamSpec, cast

import typer

from ....graphql import client as api
from ....graphql.client import Client
from ....graphql.client.command_line import sent
from ....jobs.core.base.errors import ConfigurationError
from ..base.options import DEFAULT_SERVER, ServerUrl, option, with_options
from ..base.output import AS_JSON, Output, Refused, UnreachableError
from .values import instant_of

P = ParamSpec("P")
PAGE: Final = 200
"""Rows asked for at once."""

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Rows at most.")]

ResumeAt = Annotated[
    str | None,
    typer.Option(
        "--resume-at", metavar="TIME", help="The pause ends by itself then: 2030-01-31T06:00:00Z, or in so long: 2h."
    ),
]
_OF_INPUT: Final = re.compile(r"Variable '\$input' has invalid value at \.(\S+): (?:[A-Z]\w+: )?")
"""The place of a value that the API refuses, which people have not written as a variable."""
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing; say what would become of it, and which limits it would meet.")
]
IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="Make a repetition safe: within 24 hours the same key with the same request changes nothing again.",
    ),
]
ExpectedVersion = Annotated[
    int | None,
    typer.Option("--expected-version", metavar="VERSION", help="Refuse unless its version is still this one."),
]
OPTIONS: Final = {"idempotency_key": "idempotencyKey", "dry_run": "dryRun", "expected_version": "expectedVersion"}
"""Options that become members of the input of a mutation."""
LINES: Final = 20
"""Sentences that are shown; runs with the same one share a line."""


class Api:
    """A running server, and the output of the command that speaks to it.

    Attributes:
        options: Members of each mutation's input, from the options of the command.
    """

    def __init__(self, output: Output, client: Client, url: str, options: Mapping[str, object]) -> None:
        self.output = output
        self.client = client
        self.url = url
        self.options = options

    @property
    def is_dry(self) -> bool:
        """Return whether nothing is to be changed."""
        return bool(self.options.get("dryRun"))

    @property
    def key(self) -> str | None:
        """Return the idempotency key."""
        return cast("str | None", self.options.get("idempotencyKey"))

    def instant(self, option: str, text: str | None) -> str | None:
        """Return a time as the API takes it, see ``instant_of``.

        Raises:
            ConfigurationError: it is none; or it counts from now on, and the request must be the same when it is
                repeated.
        """
        instant = instant_of(option, text)
        if self.key is not None and instant != text:
            raise ConfigurationError(
                f"{option}: must be a time such as 2030-01-31T09:30:00Z with --idempotency-key, got {text!r:.80}: it "
                "counts from now on, so a repetition would be another request"
            )
        return instant

    def ask(self, document: str, **variables: object) -> dict[str, Any]:
        """Return the data of a query."""
        return self.client.run_operation(sent(document, variables))

    def change(self, document: str, /, **input: object) -> dict[str, Any]:
        """Return the payload of a mutation with one ``input``, to which the options of the command are added.

        Raises:
            Refused: it has errors; nothing was changed.
        """
        (payload,) = self.ask(document, input={**self.options, **input}).values()
        errors = cast("list[dict[str, Any]]", payload["errors"])
        if errors:
            raise RefusedError([f"{one['message']} ({one['code']})" for one in errors])
        return cast("dict[str, Any]", payload)

    def rows(self, document: str, limit: int, **variables: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page."""
        after, left = None, limit
        while left > 0:
            (page,) = self.ask(document, first=min(left, PAGE), after=after, **variables).values()
            yield from page["nodes"]
            left -= len(page["nodes"])
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                return

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Answer with ``data`` for programs, and ``text`` for people."""
        self.output.result({"ok": True, **data}, f"Nothing was changed; it would be: {text}" if self.is_dry else text)


class RefusedError(Refused):
    """The server refused something for several reasons."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def at_server(command: Callable[Concatenate[Api, P], None]) -> Callable[..., None]:
    """Return a command that takes ``--url`` and ``--json`` after its own options, and speaks to a server."""
    return _speaking(command)


def changes_server(
    *, dry_run: bool = True, version: bool = False
) -> Callable[[Callable[Concatenate[Api, P], None]], Callable[..., None]]:
    """Make a command that changes something at a server; an idempotency key is one of its options.

    Args:
        dry_run: Whether ``--dry-run`` is an option of each mutation it sends; else the command has its own way.
        version: Whether ``--expected-version`` is.
    """
    taken = [option("idempotency_key", IdempotencyKey, None)]
    if dry_run:
        taken.append(option("dry_run", DryRun, default=False))
    if version:
        taken.append(option("expected_version", ExpectedVersion, None))
    return partial(_speaking, taken=taken)


def _speaking(command: Callable[Concatenate[Api, P], None], taken: Sequence[Parameter] = ()) -> Callable[..., None]:
    names = [one.name for one in taken]

    def speaking(*args: P.args, **given: P.kwargs) -> None:
        values = cast("dict[str, Any]", given)
        output, url = Output(as_json=values.pop("as_json", False)), values.pop("url", DEFAULT_SERVER)
        chosen = {OPTIONS[name]: values.pop(name, None) for name in names}
        options = {name: value for name, value in chosen.items() if value is not None and value is not False}
        with output.errors(), server_at(url) as client:
            command(Api(output, client, url, options), *args, **given)

    return with_options(command, speaking, after=(*taken, option("url", ServerUrl, DEFAULT_SERVER), AS_JSON))


def show_preview(api: Api, payload: dict[str, Any], **more: object) -> None:
    """Answer the preview of a payload, and the other members given."""
    preview = payload["preview"]
    api.result({**more, "preview": preview}, "\n".join([preview["sentence"], *_lines(preview)]))


def _lines(preview: dict[str, Any]) -> Iterator[str]:
    sentences = Counter(" ".join(_sentences(run)) for run in preview["runs"])
    for text, count in list(sentences.items())[:LINES]:
        yield f"  {f'{count} x ' if count > 1 else ''}{text}"
    if len(sentences) > LINES:
        yield f"  and {len(sentences) - LINES} more"
    if preview["droppedIds"]:
        yield f"  skipped to make room: {', '.join(preview['droppedIds'][:LINES])}"


def _sentences(run: dict[str, Any]) -> Iterator[str]:
    yield run["sentence"]
    if run["explanation"] is not None:
        yield run["explanation"]["sentence"]
        yield from run["explanation"]["details"]


@contextmanager
def server_at(url: str) -> Generator[api.Client]:
    """Yield a client of the server of address ``url``, closed at the end of the block; raises as ``speaking_to``."""
    with speaking_to(url), api.Client(url) as client:
        yield client


@contextmanager
def speaking_to(url: str) -> Generator[None]:
    """Turn errors of the client into those of the command line.

    Raises:
        ConfigurationError: the address is none, or a value cannot be sent.
        UnreachableError: nobody answers there, or not as a Cronograph server does.
        Refused: the server refused an operation; the message is its own.
    """
    try:
        yield
    except api.InvalidAddressError as error:
        raise ConfigurationError(f"--url (or CRONOGRAPH_URL): {str(error).removeprefix('url: ')}") from None
    except api.UnwritableError as error:
        raise ConfigurationError(str(error)) from None
    except api.UnreachableError as error:
        raise UnreachableError(f"{error}; is `cronograph serve` running? Set --url or CRONOGRAPH_URL") from None
    except api.OperationError as error:
        login = "cronograph login" if url == DEFAULT_SERVER else f"cronograph login --url {url}"
        hint = f"; run `{login}`, or set CRONOGRAPH_TOKEN to an API token (`cronograph token create`)"
        said = _OF_INPUT.sub(r"\1: ", str(error))
        raise Refused(f"{said.removesuffix('.')}{hint}" if "UNAUTHENTICATED" in error.codes else said) from None
    except (api.RefusedError, api.SignInRefusedError, api.CredentialsError) as error:
        raise Refused(str(error)) from None
    except api.ClientError as error:
        raise UnreachableError(f"no Cronograph server answers at {url}: {error}") from None
