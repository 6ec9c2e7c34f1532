"""`make cluster` shows what it says: three nodes at work, one of them killed, its runs begun again elsewhere."""

from pathlib import Path

import pytest

from tests.cluster.__main__ import JOBS, NODES, play
from tests.support.processes import ProcessStarter


@pytest.mark.costly
def test_one_of_three_nodes_is_killed_and_the_others_go_on(
    postgres_url: str, processes: ProcessStarter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "knitting.py").write_text(JOBS)
    play(processes, postgres_url, runs=300, seconds=0)
    said = capsys.readouterr().out
    assert [f"node {name} serves at" in said for name in NODES] == [True] * len(NODES)
    assert f"node {NODES[-1]} was killed" in said
    assert "attempts are lost, and begin again elsewhere" in said
    assert f"{NODES[-1]} expired" in said.splitlines()[-1]
