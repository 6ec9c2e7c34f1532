"""The flags that are settings, declared once: `serve` and `check` take the same ones."""

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias

from . import options

P = ParamSpec("P")

Flags: TypeAlias = dict[str, Any]
"""Setting name to value as given on the command line; None = not given."""

SETTINGS: Final[dict[str, Any]] = {
    "host": options.Host,
    "port": options.Port,
    "database_url": options.DatabaseUrl,
    "database_schema": options.DatabaseSchema,
    "jobs": options.Jobs,
    "node_name": options.NodeName,
    "slots": options.Slots,
    "thread_slots": options.ThreadSlots,
    "prefetch": options.Prefetch,
    "counting_scheme": options.CountingScheme,
    "groups": options.Groups,
    "only_jobs": options.OnlyJobs,
    "tags": options.Tags,
    "without_tags": options.WithoutTags,
    "heartbeat": options.Heartbeat,
    "lease": options.Lease,
    "drain_timeout": options.DrainTimeout,
    "log_level": options.LogLevel,
    "public_url": options.PublicUrl,
    "tls_cert": options.TlsCert,
    "tls_key": options.TlsKey,
    "trusted_proxies": options.TrustedProxies,
    "setup_public": options.SetupPublic,
    "no_auth": options.NoAuth,
}
"""Each of them, and how its flag is written."""

SWITCHES: Final = frozenset({"setup_public", "no_auth"})


def takes_settings(command: Callable[Concatenate[Flags, P], None]) -> Callable[..., None]:
    """A command with these flags before its own: what was given of them is its first argument."""

    @functools.wraps(command)
    def taking(*args: P.args, **given: P.kwargs) -> None:
        said: dict[str, Any] = given
        # An empty list and a switch that is off were not given.
        flags = {name: said.pop(name, None) or None for name in SETTINGS}
        command(flags, *args, **given)

    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False if name in SWITCHES else None, annotation=annotation)
        for name, annotation in SETTINGS.items()
    ]
    every = [*shared, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own)]
    # What a command takes is what typer makes its command line of.
    vars(taking)["__signature__"] = inspect.Signature(every)
    taking.__annotations__ = {one.name: one.annotation for one in every}
    return taking
