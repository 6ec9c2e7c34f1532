"""Speaks to a running server, for commands that act on one: errors of the client become those of the command line."""

from collections.abc import Generator
from contextlib import contextmanager

from ....graphql import client as api
from ....jobs.core.base.errors import ConfigurationError
from .options import DEFAULT_SERVER
from .output import Refused, UnreachableError


@contextmanager
def server_at(url: str) -> Generator[api.Client]:
    """A client of the server of address ``url``, closed at the end of the block; raises as ``speaking_to``."""
    with speaking_to(url), api.Client(url) as client:
        yield client


@contextmanager
def speaking_to(url: str) -> Generator[None]:
    """Turn errors of the client into those of the command line.

    Raises:
        ConfigurationError: the address is none.
        UnreachableError: nobody answers there, or not as a Cronograph server does.
        Refused: the server refused an operation; the message is its own.
    """
    try:
        yield
    except api.InvalidAddressError as error:
        raise ConfigurationError(f"--url (or CRONOGRAPH_URL): {str(error).removeprefix('url: ')}") from None
    except api.UnreachableError as error:
        raise UnreachableError(f"{error}; is `cronograph serve` running? Set --url or CRONOGRAPH_URL") from None
    except api.OperationError as error:
        login = "cronograph login" if url == DEFAULT_SERVER else f"cronograph login --url {url}"
        hint = f"; run `{login}`, or set CRONOGRAPH_TOKEN to an API token (`cronograph token create`)"
        raise Refused(f"{error}{hint if 'UNAUTHENTICATED' in error.codes else ''}") from None
    except (api.RefusedError, api.SignInRefusedError, api.CredentialsError) as error:
        raise Refused(str(error)) from None
    except api.ClientError as error:
        raise UnreachableError(f"no Cronograph server answers at {url}: {error}") from None
