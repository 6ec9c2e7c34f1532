"""The tables of accounts: their credentials, the secrets of jobs, saved views, and the audit log.

Nothing stands in any of them that somebody could sign in with: of a password the argon2id hash, of a passkey the public
half, of every other credential the SHA-256. The values of secrets are encrypted before they come here.
"""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint, text

from ...core.actor import Role
from .types import NO_REUSE, Key, Name, UtcDateTime, key, metadata, one_of

user_account = Table(
    "user_account",
    metadata,
    key(),
    Column("name", Name, nullable=False, unique=True),
    Column("name_key", String(400), nullable=False, unique=True),
    Column("role", String(12), nullable=False),
    Column("password_hash", Text),
    Column("disabled_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    one_of("role", Role),
    **NO_REUSE,
)


def _hash(name: str = "token_hash") -> Column[str]:
    return Column(name, String(64), nullable=False, unique=True)


def _user(*, nullable: bool = False) -> Column[int]:
    account = ForeignKey("user_account.id", ondelete="CASCADE")
    return Column("user_id", Key, account, index=True, nullable=nullable)


session = Table(
    "session",
    metadata,
    key(),
    _hash(),
    _user(),
    Column("kind", String(8), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    # Of the command line: when its access token ends, which a refresh token replaces; the session itself lasts longer.
    Column("access_expires_at", UtcDateTime),
    Column("address", String(60)),
    Column("agent", String(200)),
    CheckConstraint("kind IN ('browser', 'cli')", name="kind"),
    CheckConstraint("(kind = 'cli') = (access_expires_at IS NOT NULL)", name="access"),
    **NO_REUSE,
)

api_token = Table(
    "api_token",
    metadata,
    key(),
    _hash(),
    _user(),
    Column("name", Name, nullable=False),
    Column("shown", String(20), nullable=False),
    Column("role", String(12), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("last_used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    one_of("role", Role),
    **NO_REUSE,
)

one_time_link = Table(
    "one_time_link",
    metadata,
    key(),
    _hash(),
    _user(nullable=True),
    Column("purpose", String(12), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime),
    CheckConstraint("purpose IN ('recovery', 'setup')", name="purpose"),
    CheckConstraint("(purpose = 'setup') = (user_id IS NULL)", name="whose"),
    **NO_REUSE,
)

login_throttle = Table(
    "login_throttle",
    metadata,
    Column("subject", String(80), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last_failed_at", UtcDateTime, nullable=False, index=True),
    Column("blocked_until", UtcDateTime, nullable=False),
)

refresh_token = Table(
    "refresh_token",
    metadata,
    key(),
    _hash(),
    Column("family", String(64), nullable=False, index=True),
    _user(),
    # The sign-in that it prolongs; none once that has ended.
    Column("session_id", Key, ForeignKey("session.id", ondelete="SET NULL"), index=True),
    # The one that was exchanged for it.
    Column("parent_id", Key, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime, index=True),
    **NO_REUSE,
)

webauthn_challenge = Table(
    "webauthn_challenge",
    metadata,
    key(),
    _hash("challenge_hash"),
    _user(nullable=True),
    # The SHA-256 of the secret in the cookie of the browser that it was given to.
    Column("bound_to", String(64), nullable=False, index=True),
    Column("purpose", String(12), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime, index=True),
    CheckConstraint("purpose IN ('register', 'sign_in')", name="purpose"),
    **NO_REUSE,
)

passkey = Table(
    "passkey",
    metadata,
    key(),
    _user(),
    # As long as the standard allows: 1023 bytes in base64url.
    Column("credential_id", String(1364), nullable=False, unique=True),
    Column("public_key", Text, nullable=False),
    Column("sign_count", Key, nullable=False),
    Column("name", Name, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    **NO_REUSE,
)

provider_identity = Table(
    "provider_identity",
    metadata,
    key(),
    _user(),
    Column("provider", String(40), nullable=False),
    Column("issuer", String(400), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    UniqueConstraint("issuer", "subject"),
    **NO_REUSE,
)

provider_attempt = Table(
    "provider_attempt",
    metadata,
    key(),
    Column("state_hash", String(64), nullable=False, unique=True),
    # The SHA-256 of the secret in the cookie of the browser that began it.
    Column("bound_to", String(64), nullable=False),
    Column("provider", String(40), nullable=False),
    Column("next_path", String(2000), nullable=False),
    _user(nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("consumed_at", UtcDateTime, index=True),
    **NO_REUSE,
)

device_code = Table(
    "device_code",
    metadata,
    key(),
    _hash("device_code_hash"),
    _hash("user_code_hash"),
    _user(nullable=True),
    Column("address", String(60)),
    Column("agent", String(200)),
    Column("poll_interval", Integer, nullable=False),
    Column("polled_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("approved_at", UtcDateTime),
    Column("denied_at", UtcDateTime),
    Column("consumed_at", UtcDateTime, index=True),
    **NO_REUSE,
)

audit_log = Table(
    "audit_log",
    metadata,
    # Given by the writer, one after the other: a gap shows that something is missing.
    Column("id", Key, primary_key=True, autoincrement=False),
    Column("at", UtcDateTime, nullable=False, index=True),
    Column("actor", Name, nullable=False),
    Column("actor_id", Key, index=True),
    Column("address", String(60)),
    Column("action", String(60), nullable=False, index=True),
    Column("subject", String(400)),
    # Text and no JSON columns: the hash is over exactly these characters.
    Column("before", Text),
    Column("after", Text),
    # Of a revision: the kind of its subject, and the job that it concerns.
    Column("revised", String(12)),
    Column("job_name", Name),
    Column("hash", String(64), nullable=False),
)
_OF_REVISIONS = text("revised IS NOT NULL")
Index(
    "ix_audit_log_revised",
    audit_log.c.revised,
    audit_log.c.subject,
    audit_log.c.id,
    postgresql_where=_OF_REVISIONS,
    sqlite_where=_OF_REVISIONS,
)
Index(
    "ix_audit_log_revised_job",
    audit_log.c.job_name,
    audit_log.c.id,
    postgresql_where=_OF_REVISIONS,
    sqlite_where=_OF_REVISIONS,
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("last_id", Key, nullable=False),
    Column("last_hash", String(64), nullable=False),
    Column("pruned_id", Key, nullable=False),
    Column("pruned_hash", String(64), nullable=False),
)

secret = Table(
    "secret",
    metadata,
    Column("name", Name, primary_key=True),
    # Base64 of the nonce and of AES-256-GCM's output, with the name as associated data.
    Column("sealed", Text, nullable=False),
    Column("key_id", String(16), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("updated_by", Name, nullable=False),
)

saved_view = Table(
    "saved_view",
    metadata,
    key(),
    # Whose it is: the team's, an account's, or that of a person who has no account here.
    Column("scope", String(220), nullable=False),
    # With which account it goes.
    Column("account_id", Key, ForeignKey("user_account.id", ondelete="CASCADE"), index=True),
    Column("page", String(200), nullable=False),
    Column("name", Name, nullable=False),
    Column("search", String(2000), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("scope", "page", "name"),
    **NO_REUSE,
)
