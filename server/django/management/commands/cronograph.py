"""``manage.py cronograph …`` is ``cronograph …`` with the database and the jobs of the project."""

import sys
from argparse import REMAINDER
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from ... import command_line


class Command(BaseCommand):
    """Everything behind its name is for Cronograph's own command line."""

    help = "The commands of Cronograph, with the database and the jobs of this project: serve, check, tasks, …"
    # What Django checks before other commands, `manage.py check` does.
    requires_system_checks = ()

    @override
    def run_from_argv(self, argv: list[str]) -> None:
        # As typed: flags of Cronograph are not Django's.
        sys.exit(command_line.run(argv[2:]))

    @override
    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("arguments", nargs=REMAINDER)

    @override
    def handle(self, *args: str, **options: Any) -> None:
        """Run a command for ``call_command("cronograph", "check")``.

        Raises:
            CommandError: the command ended with another status than 0.
        """
        words = [*args, *options.get("arguments", ())]
        status = command_line.run(words)
        if status:
            raise CommandError(f"cronograph {' '.join(words)}: ended with status {status}", returncode=status)
