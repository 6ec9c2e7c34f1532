"""Providers of identities: a real one, run by Node, and one of our own that lies as it is told."""

import asyncio
import hmac
import json
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from node_tools import find_node
from tests.server.auth.devices import encoded
from tests.support.ports import free_port
from tests.support.requirements import unavailable
from tests.support.sources import ROOT
from tests.support.waiting import eventually

MODULES = ROOT / "web" / "node_modules"
SCRIPT = Path(__file__).with_name("provider.mjs")
SECRET = "a secret: with % and +"
ACCESS_TOKEN = "an access token"


@dataclass
class RealProvider:
    """The provider that Node runs."""

    issuer: str

    def visited_by(self, subject: str, *, refuses: bool = False, **claims: object) -> None:
        """Who comes from now on, and what the provider tells of them."""
        visitor = {"sub": subject, "refuses": refuses, "claims": claims}
        httpx.put(f"{self.issuer}/visitor", json=visitor, trust_env=False).raise_for_status()


@contextmanager
def real_provider(port: int, redirect: str) -> Generator[RealProvider]:
    """Start it; it knows this server as `cronograph`."""
    if not (MODULES / "oidc-provider").is_dir():
        unavailable("The OpenID provider of the tests", "`make test-web` installs it")
    command = [find_node().program, str(SCRIPT), str(MODULES), str(port), redirect]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            words = iter(process.stdout.readline, "")
            assert any(word.strip() == "ready" for word in words), "the provider did not start"
            yield RealProvider(f"http://localhost:{port}")
        finally:
            process.terminate()


@dataclass
class Liar:
    """A provider that signs all that a test wants.

    Attributes:
        issuer: What it is known as.
        claims: What it says beside the right claims, or in their place; None takes one away.
        algorithm: By which it signs: a real one, `none` or `HS256` by its public key.
        discovery: What its metadata say in the place of the right ones.
        status: Of its answers about tokens.
        key: What it signs with.
        kid: What it calls that key.
        asked: What the browser was sent there with.
    """

    issuer: str
    claims: dict[str, object] = field(default_factory=dict[str, object])
    algorithm: str = "RS256"
    discovery: dict[str, object] = field(default_factory=dict[str, object])
    status: int = 200
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    kid: str = "one"
    asked: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def note(self, address: str) -> None:
        """Look at where a browser is sent."""
        self.asked = parse_qs(urlsplit(address).query)

    def token(self) -> str:
        """An ID token."""
        now = int(datetime.now(UTC).timestamp())
        right = {"iss": self.issuer, "sub": "sub-1", "aud": "cronograph", "nonce": self.asked["nonce"][0]}
        claims = {**right, "iat": now, "exp": now + 300, **self.claims}
        kept = {name: value for name, value in claims.items() if value is not None}
        head = {"alg": self.algorithm, "kid": self.kid}
        if self.algorithm == "RS256":
            return jwt.encode(head, kept, self.key)
        body = f"{_part(head)}.{_part(kept)}"
        shared = self.key.as_pem(private=False)
        signature = b"" if self.algorithm == "none" else hmac.new(shared, body.encode(), sha256).digest()
        return f"{body}.{encoded(signature)}"

    def routes(self) -> list[Route]:
        """Its addresses."""
        return [
            Route("/.well-known/openid-configuration", self._metadata),
            Route("/jwks", self._jwks),
            Route("/token", self._token, methods=["POST"]),
        ]

    async def _metadata(self, _request: Request) -> Response:
        names = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        right = {"issuer": self.issuer, **{name: f"{self.issuer}{path}" for name, path in names.items()}}
        return JSONResponse({**right, **self.discovery})

    async def _jwks(self, _request: Request) -> Response:
        return JSONResponse({"keys": [{**self.key.as_dict(private=False), "kid": self.kid, "use": "sig"}]})

    async def _token(self, _request: Request) -> Response:
        tokens = {"id_token": self.token(), "access_token": ACCESS_TOKEN, "token_type": "Bearer"}
        return JSONResponse(tokens, self.status)


def _part(members: object) -> str:
    return encoded(json.dumps(members).encode())


@asynccontextmanager
async def liar() -> AsyncGenerator[Liar]:
    """Start it in the test's own process."""
    port = free_port()
    made = Liar(f"http://localhost:{port}")
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=made.routes()), port=port, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve())
    await eventually(lambda: server.started, message="the provider listens")
    try:
        yield made
    finally:
        server.should_exit = True
        await running
