"""A team uses a server over TLS, as the documents say: by browsers, by a terminal, and by a provider's account."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MODULE, SOURCE, need_dashboard
from tests.e2e.test_pages import ready
from tests.e2e.test_sign_in import fits_and_is_accessible, shown_secret
from tests.server.auth.providers import SECRET, RealProvider, real_provider
from tests.support.browser import BrowserWatch, PageOpener
from tests.support.certificates import make_certificate
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until

PASSWORD = "correct horse battery staple"
NEW_PASSWORD = "another horse altogether"
CONFIGURATION = """
[oidc.company]
name = "Company"
issuer = "{issuer}"
client_id = "cronograph"
client_secret = {secret}
role_claim = "groups"
roles = {{ operator = ["ops"] }}
sign_up = true
"""


@dataclass
class Team:
    """A server that speaks TLS, the provider of the company, and a terminal."""

    url: str
    provider: RealProvider
    starter: ProcessStarter
    variables: dict[str, str]
    database: str

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run a command that speaks to the server; its status and what it said."""
        return self.starter.run(*arguments, "--url", self.url, env=self.variables)

    def login(self, home: str) -> tuple[CronographProcess, str]:
        """Begin to sign a terminal in: the command, and the code that it shows."""
        env = {**self.variables, "XDG_CONFIG_HOME": str(self.starter.folder / home)}
        process = self.starter.start("login", "--url", self.url, env=env)
        shown = re.compile(rf"Open {self.url}/device\?user_code=(\S+) and let this terminal in")
        wait_until(lambda: shown.search(process.output()), message=f"a code:\n{process.output()}")
        found = shown.search(process.output())
        assert found is not None
        return process, found[1]


@pytest.fixture
def team(tmp_path: Path, processes: ProcessStarter) -> Iterator[Team]:
    """Started step by step as docs/security.md says."""
    need_dashboard()
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    port, trusted = free_port(), make_certificate(tmp_path)
    url, database = f"https://localhost:{port}", f"sqlite:///{tmp_path / 'team.db'}"
    with real_provider(free_port(), f"{url}/auth/oidc/company/callback") as provider:
        text = CONFIGURATION.format(issuer=provider.issuer, secret=json.dumps(SECRET))
        (tmp_path / "cronograph.toml").write_text(text)
        serve = ["serve", "--host", "0.0.0.0", "--port", str(port), "--database-url", database, "--jobs", MODULE]
        serve += ["--tls-cert", str(trusted.certificate), "--tls-key", str(trusted.key), "--public-url", url]
        status, said = processes.run(*serve)
        assert (status, "needs an administrator" in said) == (2, True)
        assert processes.run("user", "add", "boss", "--role", "admin", "--create", "--database-url", database)[0] == 0
        server = processes.start(*serve, port=port)
        wait_until(lambda: f"is ready: {url}" in server.output(), message="the server is ready")
        variables = {"SSL_CERT_FILE": str(trusted.certificate), "XDG_CONFIG_HOME": str(tmp_path / "ada")}
        yield Team(url, provider, processes, variables, database)


@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_team_signs_in_by_browsers_terminals_and_a_provider(
    team: Team, new_page: PageOpener, browser_watch: BrowserWatch
) -> None:
    browser_watch.allow(r"status of 40[01]|WebSocket|ERR_")
    browser_watch.origins.add(team.provider.issuer)
    let_in, code = team.login("ada")
    refused, other = team.login("eve")
    boss, ada, olga = (new_page(team.url) for _ in range(3))
    boss_signs_in_by_a_link(team, boss)
    ada_is_added(boss, ada)
    lets_the_terminal_in(ada, code)
    refuses_the_terminal(boss, other)
    comes_from_the_provider(team, olga)
    # A stream that is open when its account is disabled: the browser is led to where one signs in.
    olga.goto("/graphiql?query=subscription%20%7B%20events%20%7B%20cursor%20%7D%20%7D")
    expect(olga.locator(".graphiql-query-editor .CodeMirror-code")).to_contain_text("cursor")
    # The editor completes by the schema once it knows it; until then a click may find nothing to run.
    olga.wait_for_load_state("networkidle")
    olga.get_by_role("button", name="Execute query").click()
    expect(olga.get_by_role("button", name="Stop query")).to_be_visible()
    boss.goto("/users")
    boss.get_by_role("button", name="Disable Olga").click()
    boss.get_by_role("dialog").get_by_role("button", name="Disable").click()
    assert (let_in.wait(), refused.wait()) == (0, 1)
    assert "Signed in at" in let_in.output()
    assert "somebody has refused this device" in refused.output()
    assert team.command("whoami") == (0, "ada (viewer)\n")
    status, said = team.starter.run("whoami", "--url", team.url)
    assert (status, "or name it by SSL_CERT_FILE" in said) == (3, True)
    status, said = team.command("trigger", "quick")
    assert (status, "'triggerJob' needs the role OPERATOR" in said) == (1, True)
    the_password_is_changed(ada)
    # With the password all sign-ins have ended, that of the terminal too.
    wait_until(lambda: team.command("whoami")[0] == 1, message="the terminal is signed out")
    the_explorer_leads_to_sign_in_and_back(boss)
    expect(olga).to_have_url(re.compile(r"/login\?ended&next=%2Fgraphiql"))


def boss_signs_in_by_a_link(team: Team, page: Page) -> None:
    """That the command line has made, for who has no password yet."""
    link = ["user", "link", "boss", "--url", team.url, "--database-url", team.database]
    status, said = team.starter.run(*link)
    assert (status, said.startswith(f"{team.url}/recover?token=cgl_")) == (0, True)
    page.goto(said.strip())
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Set the password").click()
    ready(page)
    cookies = [cookie for cookie in page.context.cookies() if "cronograph" in cookie.get("name", "")]
    kept = [(one.get("name"), one.get("secure"), one.get("httpOnly"), one.get("sameSite")) for one in cookies]
    assert kept == [(f"__Host-cronograph-{urlsplit(team.url).port}", True, True, "Lax")]


def ada_is_added(boss: Page, ada: Page) -> None:
    """As a viewer, who sees what she may not do."""
    boss.goto("/users")
    ready(boss)
    boss.get_by_role("button", name="Add a user").click()
    boss.get_by_role("dialog").get_by_label("Name").fill("ada")
    boss.keyboard.press("Enter")
    expect(boss.get_by_role("dialog", name="A link for ada")).to_be_visible()
    ada.goto(shown_secret(boss))
    ada.get_by_label("Password").fill(PASSWORD)
    ada.keyboard.press("Enter")
    ready(ada)
    ada.goto("/jobs")
    ready(ada)
    expect(ada.get_by_role("button", name="Run quick…")).to_be_disabled()


def lets_the_terminal_in(page: Page, code: str) -> None:
    """From the page of the account: the code is typed, as people type it."""
    page.goto("/account")
    ready(page)
    page.get_by_role("link", name="Let a terminal in").click()
    page.get_by_label("Code").fill("BBBB-BBBB")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("No device shows this code")
    page.get_by_label("Code").fill(code.replace("-", " ").lower())
    page.keyboard.press("Enter")
    expect(page.get_by_text("A device asks to act as ada (viewer)")).to_be_visible()
    expect(page.get_by_text("Program: cronograph-client")).to_be_visible()
    fits_and_is_accessible(page)
    page.get_by_role("button", name="Let it in").click()
    expect(page.get_by_role("heading", name="The device is signed in")).to_be_visible()


def refuses_the_terminal(page: Page, code: str) -> None:
    """From the address that the terminal shows."""
    page.goto(f"/device?user_code={code}")
    expect(page.get_by_label("Code")).to_have_value(code)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Refuse").click()
    expect(page.get_by_role("heading", name="The device was refused")).to_be_visible()


def comes_from_the_provider(team: Team, page: Page) -> None:
    """Without an account here: one is made, with the role that the provider's groups mean."""
    team.provider.visited_by("sub-1", preferred_username="Olga", groups=["ops"])
    page.goto("/jobs?q=quick")
    page.get_by_role("link", name="Sign in with Company").click()
    expect(page).to_have_url(f"{team.url}/jobs?q=quick")
    ready(page)
    expect(page.locator(".who")).to_have_text("Olga")
    page.get_by_role("button", name="Run quick…").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".who").click()
    expect(
        page.get_by_text("This account has no password; an administrator can make a link that sets one.")
    ).to_be_visible()
    expect(page.get_by_role("row", name="Company")).to_contain_text("sub-1")


def the_password_is_changed(page: Page) -> None:
    """On the page of the account, which stays live with the new session."""
    page.goto("/account")
    ready(page)
    expect(page.get_by_role("row", name="cronograph-client")).to_contain_text("cli")
    page.get_by_label("Password").get_by_role("button", name="Change it").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Present password").fill("not this one")
    dialog.get_by_label("New password").fill(NEW_PASSWORD)
    dialog.get_by_label("Repeat it").fill("something else")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("This is not the same password.")
    dialog.get_by_label("Repeat it").fill(NEW_PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("This is not your password.")
    dialog.get_by_label("Present password").fill(PASSWORD)
    for field in ("New password", "Repeat it"):
        dialog.get_by_label(field).fill("short")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("must have 12 to 1024 characters")
    for field in ("New password", "Repeat it"):
        dialog.get_by_label(field).fill(NEW_PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your password is changed")).to_be_visible()
    expect(page.get_by_role("row", name="cronograph-client")).to_have_count(0)
    ready(page)
    page.get_by_role("button", name="Close message").click()
    fits_and_is_accessible(page)
    expect(page).to_have_url(re.compile("/account$"))


def the_explorer_leads_to_sign_in_and_back(page: Page) -> None:
    """When the browser has lost its session."""
    page.goto("/graphiql?query=%7B%20viewer%20%7B%20name%20%7D%20%7D")
    expect(page.locator(".graphiql-query-editor .CodeMirror-code")).to_contain_text("viewer")
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies()
    page.get_by_role("button", name="Execute query").click()
    expect(page).to_have_url(re.compile(r"/login\?ended&next=%2Fgraphiql"))
    page.get_by_label("Name").fill("boss")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/graphiql\?query="))
    page.get_by_role("button", name="Execute query").click()
    expect(page.locator(".graphiql-response .CodeMirror-code")).to_contain_text("boss")
