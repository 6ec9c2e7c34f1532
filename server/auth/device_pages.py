"""The pages on which somebody who has signed in lets a device in: plain HTML, as the other pages of sign-in."""

from html import escape

from starlette.responses import HTMLResponse

from ...jobs.accounts.rules.devices import DeviceRequest
from .base.pages import hidden, notice, page


def code_page(code: str = "", message: str | None = None, status: int = 200) -> HTMLResponse:
    """Asks for the code that the device shows."""
    body = (
        "<p>Type the code that your command line shows. Go on only if you have just begun to sign in there "
        "yourself.</p>"
        f'{notice(message)}<form method="post" action="device"><label for="code">Code</label><input id="code" '
        f'name="user_code" value="{escape(code)}" autocomplete="off" autocapitalize="characters" spellcheck="false" '
        'maxlength="20" required autofocus><button>Continue</button></form>'
    )
    return page("Sign in a device", body, status)


def decision_page(code: str, request: DeviceRequest, name: str, role: str) -> HTMLResponse:
    """Shows which device asks, and lets one decide."""
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
    """Says what was decided."""
    if approved:
        return page("The device is signed in", "<p>You can close this page and go on there.</p>")
    return page("The device was refused", "<p>It gets no access. You can close this page.</p>")
