"""OpenID Connect: asks a provider who somebody is, and believes nothing that is not signed for this very request."""

import hashlib
import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import quote_plus

import httpx
from joserfc import jwt
from joserfc.errors import InvalidClaimError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from ...graphql.base.errors import UserFacingError
from ...jobs.accounts.rules.accounts import Profile, role_of
from ..configuration.settings import ProviderSettings

log = logging.getLogger("cronograph.sign_in")

TIMEOUT: Final = 10.0
LEEWAY: Final = 60
"""Seconds by which the provider's clock may differ."""
SIGNED: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures by a key pair: a key that checks them cannot make them. Not ``none``, and nothing that shares a secret."""
MAX_SUBJECT: Final = 255
ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True, slots=True)
class Binding:
    """Tie a sign-in to the browser that began it, by the secret in its cookie; it is kept nowhere else.

    Attributes:
        secret: That in the cookie.
        state: Random, for this attempt alone; it travels by the provider and back.
    """

    secret: str
    state: str

    @property
    def nonce(self) -> str:
        """Return the value that the provider signs along."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """Return the proof that the code comes back from the client that asked for it (PKCE)."""
        return self._derived("verifier")

    def _derived(self, purpose: str) -> str:
        text = f"{self.secret}.{self.state}.{purpose}".encode("utf-8", "surrogatepass")
        return _base64(hashlib.sha256(text).digest())


class Provider:
    """One provider of identities.

    Attributes:
        key: Its name in addresses and in the configuration.
        settings: How to reach it.
        callback: Where it sends people back to.
    """

    def __init__(self, key: str, settings: ProviderSettings, origin: str) -> None:
        self.key = key
        self.settings = settings
        self.callback = f"{origin}/auth/oidc/{key}/callback"
        self._metadata: dict[str, Any] | None = None
        self._keys: KeySet | None = None

    async def address(self, binding: Binding) -> str:
        """Return the address to which a browser is sent.

        Raises:
            UserFacingError: ``PROVIDER_NOT_AVAILABLE``.
        """
        metadata = await self._discovered()
        params = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.callback,
            "scope": " ".join(self.settings.scopes),
            "state": binding.state,
            "nonce": binding.nonce,
            "code_challenge": _base64(hashlib.sha256(binding.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        return str(httpx.URL(metadata["authorization_endpoint"]).copy_merge_params(params))

    async def profile(self, query: Mapping[str, str], binding: Binding, now: datetime) -> Profile:
        """Return the profile of the person whom the provider has seen, by the answer that a browser brings back.

        Raises:
            UserFacingError: ``PROVIDER_REFUSED``: it says no, or ``PROVIDER_ANSWER``: its answer is not good;
                ``NO_ROLE``: its claims give none; ``PROVIDER_NOT_AVAILABLE``.
        """
        if "error" in query:
            raise _refused("PROVIDER_REFUSED", f"{self.settings.name} refused: {query['error'][:100]}")
        if query.get("iss", self.settings.issuer) != self.settings.issuer:
            raise self._bad("it comes from another provider")
        tokens = await self._tokens(query.get("code", ""), binding)
        claims = await self._checked(str(tokens.get("id_token", "")), tokens, binding, now)
        return self._profile(await self._completed(claims, tokens))

    def _profile(self, claims: Mapping[str, Any]) -> Profile:
        settings = self.settings
        role = role_of(claims, settings.role_claim, settings.roles) if settings.roles else None
        if settings.roles and role is None:
            message = f"{settings.name} gives you no role here; ask its administrator."
            raise _refused("NO_ROLE", message, status=403)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT:
            raise self._bad(f"its 'sub' must be a text of 1 to {MAX_SUBJECT} characters")
        name = claims.get(settings.name_claim)
        fit = name if isinstance(name, str) and name else None
        return Profile(self.key, settings.issuer, subject, fit, role, settings.sign_up)

    async def _tokens(self, code: str, binding: Binding) -> dict[str, Any]:
        metadata = await self._discovered()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": binding.verifier,
        }
        auth = None
        secret = self.settings.secret()
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if secret is not None and "client_secret_basic" in methods:
            auth = httpx.BasicAuth(quote_plus(self.settings.client_id), quote_plus(secret))
        else:
            form |= {"client_id": self.settings.client_id} | ({} if secret is None else {"client_secret": secret})
        async with _client() as client:
            return await self._json(client.post(metadata["token_endpoint"], data=form, auth=auth or httpx.Auth()))

    async def _checked(
        self, token: str, tokens: Mapping[str, Any], binding: Binding, now: datetime
    ) -> Mapping[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience, times and nonce are right."""
        essential = {
            "iss": self.settings.issuer,
            "aud": self.settings.client_id,
            "nonce": binding.nonce,
            "sub": None,
            "exp": None,
            "iat": None,
        }
        try:
            decoded = await self._decoded(token)
            registry = jwt.JWTClaimsRegistry(round(now.timestamp()), LEEWAY, **_essential(essential))
            registry.validate(decoded.claims)
            _check_party(decoded.claims, self.settings.client_id)
            _check_half_hash(decoded, tokens.get("access_token"))
        except (JoseError, ValueError) as error:
            raise self._bad(str(error)) from error
        return decoded.claims

    async def _decoded(self, token: str) -> jwt.Token:
        registry = JWSRegistry(algorithms=list(SIGNED), strict_check_header=False)
        try:
            return jwt.decode(token, await self._key_set(), registry=registry)
        except InvalidKeyIdError:
            # The provider has new keys since.
            self._keys = None
            return jwt.decode(token, await self._key_set(), registry=registry)

    async def _completed(self, claims: Mapping[str, Any], tokens: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the claims, and those that the provider sends on request only."""
        endpoint = (await self._discovered()).get("userinfo_endpoint")
        if not endpoint or "access_token" not in tokens:
            return claims
        bearer = {"authorization": f"Bearer {tokens['access_token']}"}
        async with _client() as client:
            more = await self._json(client.get(endpoint, headers=bearer))
        if more.get("sub") != claims["sub"]:
            raise self._bad("it names somebody else")
        return {**more, **claims}

    async def _discovered(self) -> dict[str, Any]:
        if self._metadata is None:
            address = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            async with _client() as client:
                found = await self._json(client.get(address))
            if found.get("issuer") != self.settings.issuer:
                raise self._not_available(f"it calls itself {str(found.get('issuer'))[:100]!r}")
            missing = [name for name in ENDPOINTS if not isinstance(found.get(name), str)]
            if missing:
                raise self._not_available(f"its metadata lack {', '.join(missing)}")
            self._metadata = found
        return self._metadata

    async def _key_set(self) -> KeySet:
        if self._keys is None:
            metadata = await self._discovered()
            async with _client() as client:
                found = await self._json(client.get(metadata["jwks_uri"]))
            self._keys = KeySet.import_key_set(cast("Any", found))
        return self._keys

    async def _json(self, asked: Awaitable[httpx.Response]) -> dict[str, Any]:
        try:
            answer = await asked
            found: object = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise self._not_available(f"{type(error).__name__}: {error}") from error
        if answer.status_code >= 500 or not isinstance(found, dict):
            raise self._not_available(f"it answered {answer.status_code}")
        members = cast("dict[str, Any]", found)
        if not answer.is_success:
            raise self._bad(f"{answer.status_code} {str(members.get('error', ''))[:100]}")
        return members

    def _not_available(self, why: str) -> UserFacingError:
        log.warning("provider %s cannot be used: %s", self.key, why[:300])
        message = f"{self.settings.name} cannot be reached just now; try again, or sign in another way."
        return UserFacingError(message, code="PROVIDER_NOT_AVAILABLE", http_status=503)

    def _bad(self, why: str) -> UserFacingError:
        log.warning("an answer of provider %s was refused: %s", self.key, why[:300])
        return _refused("PROVIDER_ANSWER", f"The answer of {self.settings.name} was refused; try again.")


def _essential(claims: Mapping[str, str | None]) -> dict[str, jwt.ClaimsOption]:
    return {
        name: {"essential": True} if value is None else {"essential": True, "value": value}
        for name, value in claims.items()
    }


def _check_party(claims: Mapping[str, Any], client_id: str) -> None:
    """Raise `InvalidClaimError` unless `azp` names this client; only a sole audience may leave it out."""
    alone = claims["aud"] in (client_id, [client_id])
    if claims.get("azp") not in ((client_id, None) if alone else (client_id,)):
        raise InvalidClaimError("azp")


def _check_half_hash(token: jwt.Token, access_token: object) -> None:
    """Raise `InvalidClaimError` if the token was made for another access token."""
    expected = token.claims.get("at_hash")
    if expected is None or not isinstance(access_token, str):
        return
    algorithm = token.header["alg"]
    bits = algorithm[2:] if algorithm[2:].isdigit() else "512"
    digest = hashlib.new(f"sha{bits}", access_token.encode("utf-8", "surrogatepass")).digest()
    half = _base64(digest[: len(digest) // 2])
    if not hmac.compare_digest(half.encode(), str(expected).encode("utf-8", "surrogatepass")):
        raise InvalidClaimError("at_hash")


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=TIMEOUT, trust_env=False)


def _refused(code: str, message: str, status: int = 401) -> UserFacingError:
    return UserFacingError(message, code=code, http_status=status)
