"""The list of commands says what each is for without importing it."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cronograph.server.cli import COMMANDS, application


def test_the_help_is_the_same_whether_commands_are_imported_or_not() -> None:
    of_none, of_all = (CliRunner().invoke(application(names), ["--help"]).output for names in ((), COMMANDS))

    assert "audit" in of_none
    assert of_none == of_all


@pytest.mark.costly
def test_the_help_imports_neither_jobs_nor_the_server() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from cronograph.server.cli import application;"
        "print(CliRunner().invoke(application(()), ['--help']).exit_code,"
        "[one for one in sys.modules if one.startswith(('cronograph.jobs', 'sqlalchemy', 'pydantic', 'starlette'))])"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=50)

    assert done.stdout == "0 []\n"


@pytest.mark.parametrize("word", ["srve", "serv", "run"])
def test_an_unknown_command_gets_the_nearest_ones(word: str) -> None:
    done = CliRunner().invoke(application(()), [word])

    assert done.exit_code == 2
    assert "Did you mean" in done.output
