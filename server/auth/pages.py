"""The pages of sign-in: plain HTML without scripts, so that they work before anything else does."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import quote

from starlette.responses import HTMLResponse

PAGE_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
STYLE_PATH: Final = "/auth/style.css"
STYLE: Final = """
:root { color-scheme: light dark; --line: #c6ccd6; --accent: #2456c7; --bad: #b3261e; --back: #f5f6f8; --card: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --line: #454c59; --accent: #8fb3ff; --bad: #ff8a80; --back: #14171c; --card: #1c2027; }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: var(--back); }
main { max-width: 25rem; margin: 10vh auto; padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .55rem; border: 1px solid var(--line);
  border-radius: .4rem; background: transparent; color: inherit; }
button { font: inherit; margin: 1.25rem .5rem 0 0; padding: .55rem 1.25rem; border: 1px solid var(--accent);
  border-radius: .4rem; background: var(--accent); color: var(--card); cursor: pointer; }
a.way { display: block; text-align: center; padding: .55rem 1.25rem; border: 1px solid var(--line);
  border-radius: .4rem; color: inherit; text-decoration: none; }
button.plain { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.bad { color: var(--bad); font-weight: 600; }
code { font-size: 1.2em; letter-spacing: .1em; }
"""
HEADERS: Final = {"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-store"}

PASSWORD_RULE: Final = "At least 12 characters; a sentence of a few words does well."  # noqa: S105 - no secret


def page(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page. ``body`` is HTML; whatever comes from outside in it is escaped by whoever wrote it."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · Cronograph</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{STYLE_PATH}"></head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(text, status, headers=HEADERS)


def notice(message: str | None) -> str:
    """A sentence about what went wrong; nothing for None."""
    return f'<p class="bad" role="alert">{escape(message)}</p>' if message else ""


def hidden(name: str, value: str) -> str:
    """A field that is sent along."""
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


@dataclass(frozen=True, slots=True)
class OtherWays:
    """How one may sign in besides a password.

    Attributes:
        providers: Keys and names of providers.
    """

    providers: Sequence[tuple[str, str]] = ()

    def links(self, next_path: str) -> str:
        """A link to each provider, which leads back to a path of this site."""
        return "".join(
            f'<p><a class="way" href="/auth/oidc/{key}?next={quote(next_path, safe="")}">'
            f"Sign in with {escape(name)}</a></p>"
            for key, name in self.providers
        )


def login_page(
    next_path: str, ways: OtherWays, name: str = "", message: str | None = None, status: int = 200
) -> HTMLResponse:
    """Asks for name and password, or another way."""
    body = (
        f'{notice(message)}<form method="post" action="/login">{hidden("next", next_path)}'
        f'<label for="name">Name</label><input id="name" name="name" value="{escape(name)}" autocomplete="username" '
        'maxlength="100" required autofocus>'
        '<label for="password">Password</label><input id="password" name="password" type="password" '
        'autocomplete="current-password" maxlength="1024" required><button>Sign in</button></form>'
        f"{ways.links(next_path)}"
    )
    return page("Sign in", body, status)


def signed_in_page(name: str, role: str) -> HTMLResponse:
    """Says who is signed in, and lets them leave."""
    body = (
        f'<p>You are signed in as <strong>{escape(name)}</strong> ({escape(role)}).</p><p><a href="/">Dashboard</a></p>'
        '<form method="post" action="/auth/sign-out"><button>Sign out</button></form>'
        '<form method="post" action="/auth/sign-out-everywhere"><button class="plain">Sign out everywhere</button>'
        "</form>"
    )
    return page("Signed in", body)


def setup_page(token: str, name: str = "", message: str | None = None, status: int = 200) -> HTMLResponse:
    """Asks for the name and the password of the first administrator."""
    body = (
        "<p>This server has no administrator yet. Choose a name and a password; the link works once.</p>"
        f'{notice(message)}<form method="post" action="/setup">{hidden("token", token)}'
        f'<label for="name">Name</label><input id="name" name="name" value="{escape(name)}" autocomplete="username" '
        f'maxlength="100" required autofocus>{_new_password()}<button>Make the administrator</button></form>'
    )
    return page("Set up Cronograph", body, status)


def recovery_page(token: str, message: str | None = None, status: int = 200) -> HTMLResponse:
    """Asks for a new password in the place of a forgotten one."""
    body = (
        "<p>Choose a new password; the link works once, and all your sign-ins end.</p>"
        f'{notice(message)}<form method="post" action="/recover">{hidden("token", token)}{_new_password()}'
        "<button>Set the password</button></form>"
    )
    return page("New password", body, status)


def refused_page(message: str, status: int) -> HTMLResponse:
    """Says why a sign-in by a provider came to nothing."""
    return page("Not signed in", f"{notice(message)}<p><a href='/login'>Sign in</a></p>", status)


def dead_link_page(message: str) -> HTMLResponse:
    """Says that a link is worth nothing."""
    return page("This link does not work", f"{notice(message)}<p><a href='/login'>Sign in</a></p>", 410)


def _new_password() -> str:
    return (
        '<label for="password">Password</label><input id="password" name="password" type="password" '
        'autocomplete="new-password" minlength="12" maxlength="1024" required aria-describedby="rule">'
        f'<small id="rule">{PASSWORD_RULE}</small>'
    )
