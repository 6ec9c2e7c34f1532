"""The settings of providers of identities (OpenID Connect): a table for each in ``cronograph.toml``."""

import json
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from ...jobs.core.actor import Role

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
ProviderKey = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,29}$")]


def _https(text: str) -> str:
    parts = urlsplit(text)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an https:// address without query, exactly as the provider calls itself")
    return text


class ProviderSettings(BaseModel):
    """How to reach a provider, and what its people may do here.

    Attributes:
        name: What the button says.
        issuer: The provider's own name, an address; its metadata is found below.
        client_id: What this server is called there.
        client_secret: What it proves itself by; None = a public client, by PKCE alone.
        client_secret_file: A file that holds it.
        scopes: What is asked for.
        name_claim: What new accounts are called by.
        role_claim: What ``roles`` looks at, with dots for what is deeper.
        roles: For each role the values of that claim which give it; ``*`` = any. Without it the provider does not say
            what people may do: new accounts are viewers.
        sign_up: Whether an account is made for whom none is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=60)]
    issuer: Annotated[str, Field(max_length=400), AfterValidator(_https)]
    client_id: Annotated[str, Field(min_length=1, max_length=400)]
    client_secret: SecretStr | None = None
    client_secret_file: Path | None = None
    scopes: tuple[str, ...] = ("openid", "profile")
    name_claim: str = "preferred_username"
    role_claim: str = "groups"
    roles: dict[Role, tuple[str, ...]] = {}
    sign_up: bool = False

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.client_secret is not None and self.client_secret_file is not None:
            raise ValueError("client_secret and client_secret_file: must not be set both")
        if "openid" not in self.scopes:
            raise ValueError("scopes: must have openid among them")
        return self

    def secret(self) -> str | None:
        """What this server proves itself by; None = nothing.

        Raises:
            OSError: its file cannot be read.
        """
        if self.client_secret_file is not None:
            return self.client_secret_file.read_text().strip()
        return None if self.client_secret is None else self.client_secret.get_secret_value()


def from_text(value: object) -> object:
    """The providers as a variable holds them, in JSON.

    Raises:
        ValueError: it is no JSON; what it is is not said, there are secrets in it.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("must be a JSON object") from None
