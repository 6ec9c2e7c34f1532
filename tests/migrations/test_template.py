"""A new revision, made from the template, is one that Alembic reads and applies."""

import shutil
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from tests.migrations.draft import ROOT


def test_a_revision_made_from_the_template_follows_the_last_one(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(ROOT / "migrations", folder, ignore=shutil.ignore_patterns("__pycache__"))
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    command.revision(config, "Keep the colour", rev_id="0002")
    revisions = ScriptDirectory.from_config(config)
    assert revisions.get_current_head() == "0002"
    made = revisions.get_revision("0002")
    assert made.down_revision == "0001"
    assert made.doc == "Keep the colour"
    assert Path(made.path).name == "0002_keep_the_colour.py"
    assert made.module.upgrade() is None
