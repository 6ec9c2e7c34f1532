"""The pages of sign-in: plain HTML that works without its script, wherever an application has mounted us."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from ...jobs.accounts.rules.sessions import DeviceRequest

BASE: Final = '<base href="/">'
"""Says in a page where its links, which are relative, begin."""


def root_path_of(scope: Scope) -> str:
    """Return the path that everything is served below, without a slash at its end; nothing for a server of its own."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def path_below_root(request: Request) -> str:
    """Return the requested path below that root, with its query."""
    path = request.url.path.removeprefix(quote(root_path_of(request.scope))) or "/"
    return f"{path}?{request.url.query}" if request.url.query else path


class Page(HTMLResponse):
    """A page that holds ``BASE``."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, with its base where we are mounted."""
        root = root_path_of(scope)
        if root:
            base = f'<base href="{escape(quote(root))}/">'
            self.body = bytes(self.body).replace(BASE.encode(), base.encode(), 1)
            self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


class Redirect(RedirectResponse):
    """Leads to a path of this site, as it is below where we are mounted."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers["location"] = f"{quote(root_path_of(scope))}{self.headers['location']}"
        await super().__call__(scope, receive, send)


PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
)
STYLE_PATH: Final = "/auth/style.css"
SCRIPT_PATH: Final = "/sign-in.js"
"""Brings passkeys and the theme of the dashboard. Without it, as in a server without dashboard, passwords work."""

STYLE: Final = """
:root { color-scheme: light dark; --ground: light-dark(#f5f6f8, #101318); --surface: light-dark(#ffffff, #171b22);
  --line: light-dark(#dfe3e8, #2a313c); --line-strong: light-dark(#8b95a3, #667180);
  --text: light-dark(#1b2129, #e4e8ee); --dim: light-dark(#566170, #9aa5b4); --accent: light-dark(#2456c7, #86aefc);
  --accent-ground: light-dark(#2456c7, #2c5fd3); --bad: light-dark(#b3222f, #ff8a8f); }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
body { font: 14px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; margin: 0;
  background: var(--ground); color: var(--text); }
header { align-items: center; background: var(--surface); border-bottom: 1px solid var(--line); display: flex;
  font-weight: 650; gap: 8px; height: 48px; padding: 0 16px; }
main { box-sizing: border-box; max-width: 25rem; margin: 8vh auto; width: calc(100% - 32px); padding: 20px 24px 24px;
  background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
h1 { font-size: 20px; margin: 0 0 12px; }
a { color: var(--accent); }
label { display: block; margin: 14px 0 4px; font-weight: 600; }
textarea, select, input { font: inherit; width: 100%; box-sizing: border-box; min-height: 36px; padding: 4px 10px;
  border: 1px solid var(--line-strong); border-radius: 6px; background: transparent; color: inherit; }
textarea { min-height: 96px; }
fieldset input[type="radio"] { min-height: 0; width: auto; margin: 0 8px 0 0; }
fieldset { border: 0; margin: 14px 0 0; padding: 0; }
legend { font-weight: 600; padding: 0; }
fieldset label { align-items: center; display: flex; font-weight: 400; margin: 0; min-height: 36px; }
main p { overflow-wrap: anywhere; }
dl { border: 1px solid var(--line); border-radius: 6px; margin: 12px 0; padding: 4px 12px; }
dt { color: var(--dim); margin-top: 8px; }
dd { margin: 0 0 8px; overflow-wrap: anywhere; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: 4px 12px 4px 0; text-align: left; vertical-align: top; }
summary { cursor: pointer; margin-top: 16px; min-height: 36px; }
button, a.way { background: transparent; border: 1px solid var(--line-strong); border-radius: 6px;
  box-sizing: border-box; color: inherit; cursor: pointer; display: block; font: inherit; font-weight: 500;
  margin: 16px 0 0; min-height: 36px; padding: 6px 14px; text-align: center; text-decoration: none; width: 100%; }
button.primary { background: var(--accent-ground); border-color: var(--accent-ground); color: #ffffff; }
button:hover, a.way:hover { border-color: var(--accent); }
button:disabled { opacity: .6; }
[hidden] { display: none; }
hr { border: 0; border-top: 1px solid var(--line); margin: 20px 0 4px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.bad { color: var(--bad); font-weight: 600; }
.dim, small { color: var(--dim); }
code { font-size: 1.2em; letter-spacing: .1em; }
@media (pointer: coarse) { textarea, select, input { font-size: 16px; min-height: 44px; }
  button, a.way, summary, fieldset label { min-height: 44px; } }
"""
HEADERS: Final = {"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-store"}

SET_UP: Final = (
    "<p>This server has no administrator yet. Open the one-time link that it printed when it started; "
    "the link is also in a file that ends in <strong>.setup-link</strong>, where the server runs.</p>"
)
PASSWORD_RULE: Final = "At least 12 characters; a sentence of a few words does well."  # noqa: S105 - no secret


async def style(_request: Request) -> Response:
    """Answer with the style sheet of all pages."""
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "no-cache"})


def page(title: str, body: str, status: int = 200, brand: str = "Cronograph") -> HTMLResponse:
    """Return a page, whose links are relative to where we are mounted.

    ``body`` is HTML; values from outside must be escaped already. ``brand`` is the name at its head.
    """
    logo = '<img src="icon.svg" alt="" width="22" height="22">' if brand == "Cronograph" else ""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{BASE}'
        f"<title>{escape(title)} · {escape(brand)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="icon.svg" type="image/svg+xml"><link rel="stylesheet" href="{STYLE_PATH[1:]}">'
        f'<script type="module" src="{SCRIPT_PATH[1:]}"></script></head>'
        f"<body><header>{logo}<span>{escape(brand)}</span></header>"
        f"<main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return Page(text, status, headers=HEADERS)


def notice(message: str | None) -> str:
    """Return a sentence about the error; nothing for None."""
    return f'<p class="bad" role="alert">{escape(message)}</p>' if message else ""


def hidden(name: str, value: str) -> str:
    """Return a field that is sent along."""
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


@dataclass(frozen=True, slots=True)
class OtherWays:
    """List the ways to sign in besides a password.

    Attributes:
        providers: Keys and names of providers.
    """

    providers: Sequence[tuple[str, str]] = ()

    def links(self, next_path: str) -> str:
        """Return a link to each provider, which leads back to a path of this site."""
        return "".join(
            f'<a class="way" href="auth/oidc/{key}?next={quote(next_path, safe="")}">Sign in with {escape(name)}</a>'
            for key, name in self.providers
        )


def login_page(
    next_path: str,
    ways: OtherWays,
    name: str = "",
    message: str | None = None,
    status: int = 200,
    *,
    reason: str | None = None,
    unset: bool = False,
) -> HTMLResponse:
    """Ask for name and password, or another way.

    Args:
        next_path: Where to go afterwards, a path of this site.
        ways: How one may sign in besides.
        name: The name that was entered: the password gets the focus then.
        message: Why the sign-in before came to nothing.
        status: That of the answer.
        reason: Why one is here.
        unset: Whether nobody can sign in yet.
    """
    on_name, on_password = ("", " autofocus") if name else (" autofocus", "")
    body = (
        f"{SET_UP if unset else ''}{f'<p>{escape(reason)}</p>' if reason else ''}"
        f'{notice(message)}<form method="post" action="login">{hidden("next", next_path)}'
        f'<label for="name">Name</label><input id="name" name="name" value="{escape(name)}" autocomplete="username" '
        f'maxlength="100" required{on_name}>'
        '<label for="password">Password</label><input id="password" name="password" type="password" '
        f'autocomplete="current-password" maxlength="1024" required{on_password}>'
        '<button class="primary">Sign in</button></form>'
        '<button type="button" data-passkey hidden>Sign in with a passkey</button>'
        f"{ways.links(next_path)}"
    )
    return page("Sign in", body, status)


def signed_in_page(name: str, role: str) -> HTMLResponse:
    """Say who is signed in, and let them leave."""
    body = (
        f"<p>You are signed in as <strong>{escape(name)}</strong> ({escape(role)}).</p>"
        '<p><a href="./">Dashboard</a></p>'
        '<form method="post" action="auth/sign-out"><button class="primary">Sign out</button></form>'
        '<form method="post" action="auth/sign-out-everywhere"><button>Sign out everywhere</button>'
        "</form>"
    )
    return page("Signed in", body)


def setup_page(token: str, name: str = "", message: str | None = None, status: int = 200) -> HTMLResponse:
    """Ask for the name and the password of the first administrator."""
    body = (
        "<p>This server has no administrator yet. Choose a name and a password; the link works once.</p>"
        f'{notice(message)}<form method="post" action="setup">{hidden("token", token)}'
        f'<label for="name">Name</label><input id="name" name="name" value="{escape(name)}" autocomplete="username" '
        f'maxlength="100" required autofocus>{_new_password()}'
        '<button class="primary">Make the administrator</button></form>'
    )
    return page("Set up Cronograph", body, status)


def recovery_page(token: str, message: str | None = None, status: int = 200) -> HTMLResponse:
    """Ask for a new password in place of a forgotten one."""
    body = (
        "<p>Choose a new password; the link works once, and all your sign-ins end.</p>"
        f'{notice(message)}<form method="post" action="recover">{hidden("token", token)}{_new_password()}'
        '<button class="primary">Set the password</button></form>'
    )
    return page("New password", body, status)


def refused_page(message: str, status: int) -> HTMLResponse:
    """Say why a sign-in by a provider came to nothing."""
    return page("Not signed in", f"{notice(message)}<p><a href='login'>Sign in</a></p>", status)


def dead_link_page(message: str) -> HTMLResponse:
    """Say that a link is not valid."""
    return page("This link does not work", f"{notice(message)}<p><a href='login'>Sign in</a></p>", 410)


def _new_password() -> str:
    return (
        '<label for="password">Password</label><input id="password" name="password" type="password" '
        'autocomplete="new-password" minlength="12" maxlength="1024" required aria-describedby="rule">'
        f'<small id="rule">{PASSWORD_RULE}</small>'
    )


def code_page(code: str = "", message: str | None = None, status: int = 200) -> HTMLResponse:
    """Ask for the code that the device shows."""
    body = (
        "<p>Type the code that your command line shows. Go on only if you have just begun to sign in there "
        "yourself.</p>"
        f'{notice(message)}<form method="post" action="device"><label for="code">Code</label><input id="code" '
        f'name="user_code" value="{escape(code)}" autocomplete="off" autocapitalize="characters" spellcheck="false" '
        'maxlength="20" required autofocus><button>Continue</button></form>'
    )
    return page("Sign in a device", body, status)


def decision_page(code: str, request: DeviceRequest, name: str, role: str) -> HTMLResponse:
    """Show which device asks, and let the account decide."""
    agent = escape(request.agent or "a program that does not say what it is")
    body = (
        f"<p>A device asks to act as <strong>{escape(name)}</strong> ({escape(role)}). It will be able to do all "
        "that you may do, until you end its session.</p>"
        f"<p>Code: <code>{escape(code)}</code><br>Program: {agent}<br>Address: {escape(request.address or 'unknown')}"
        f"<br>Asked at: {request.created_at:%H:%M:%S} UTC</p>"
        f'<form method="post" action="device/decision">{hidden("user_code", code)}'
        '<button name="decision" value="approve">Let it in</button>'
        '<button class="plain" name="decision" value="deny">Refuse</button></form>'
    )
    return page("Let this device in?", body)


def decided_page(*, approved: bool) -> HTMLResponse:
    """Say how the request was decided."""
    if approved:
        return page("The device is signed in", "<p>You can close this page and go on there.</p>")
    return page("The device was refused", "<p>It gets no access. You can close this page.</p>")
