"""The alert rules and the dashboard in the documents are what Prometheus and Grafana take."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from cronograph.server.metrics import node, page
from cronograph.server.metrics.node import Family
from tests.support.ports import free_port
from tests.support.processes import ProcessStarter
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until
from tests.support.web import get

FOLDER = Path(__file__).parents[3] / "docs" / "monitoring"  # its README.md too
PROGRAMS = "/usr/bin:/usr/local/bin"


def program(name: str) -> str:
    found = shutil.which(name, path=PROGRAMS)
    if found is None:
        unavailable(name, "as root, make prometheus")
    return found


def alerts_of(text: str) -> set[str]:
    return set(re.findall(r"Cronograph[A-Z]\w+", text))


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    declared = set(re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text()))
    assert len(declared) >= 14
    assert alerts_of((FOLDER / "alerts-test.yml").read_text()) == declared


def test_the_rules_are_sound_and_each_alert_fires_when_it_should() -> None:
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts-test.yml"]):
        done = subprocess.run([program("promtool"), *words], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_label_of_ours_is_one_that_prometheus_sets() -> None:
    families = [one for module in (node, page) for one in vars(module).values() if isinstance(one, Family)]
    assert len(families) > 30
    assert {name for one in families for name in one.labels} & {"job", "instance"} == set()


JOBS = """
from cronograph.jobs import job

@job(schedule="* * * * * *", retries=0)
async def pay() -> None:
    raise ValueError("no money")

@job(schedule="* * * * * *", retries=0)
async def fine() -> None: ...
"""


@pytest.mark.costly
def test_a_real_prometheus_scrapes_a_server_and_fires_for_the_one_job_that_fails(
    sqlite_url: str, processes: ProcessStarter, tmp_path: Path
) -> None:
    (processes.folder / "paying.py").write_text(JOBS)
    server = processes.serve(sqlite_url, "--jobs", "paying")
    port = free_port()
    target = server.url.removeprefix("http://")
    readme = (FOLDER / "README.md").read_text()
    config = re.search(r"```yaml[^\n]*\n(scrape_configs:.*?)```", readme, re.DOTALL)
    assert config is not None
    text = config[1].replace("localhost:8000", target).replace("15s", "1s")
    rules = f"global: {{evaluation_interval: 1s}}\nrule_files: ['{FOLDER}/alerts.yml']\n"
    (tmp_path / "prometheus.yml").write_text(rules + text)
    where = [f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"]
    command = [program("prometheus"), f"--config.file={tmp_path}/prometheus.yml", *where]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)

    def answer(query: str) -> list[Any]:
        try:
            answered = get(f"http://127.0.0.1:{port}/api/v1/query?query={query}")
        except httpx.TransportError:
            return []
        return list(answered.json()["data"]["result"]) if answered.status_code == 200 else []

    try:
        wait_until(lambda: bool(answer("cronograph_node_ready")), within=30)
        (ready,) = answer("cronograph_node_ready")
        assert (ready["value"][1], ready["metric"]["job"]) == ("1", "cronograph")
        fails = 'ALERTS{alertname="CronographJobFails",alertstate="firing"}'
        wait_until(lambda: bool(answer(fails)), message="the alert to fire")
        assert [one["metric"]["job_name"] for one in answer(fails)] == ["pay"]
    finally:
        running.terminate()
        running.wait(30)


def test_promtool_finds_nothing_to_object_to_in_the_metrics(sqlite_url: str, processes: ProcessStarter) -> None:
    page = get(f"{processes.serve(sqlite_url).url}/metrics").text
    done = subprocess.run(
        [program("promtool"), "check", "metrics"], input=page, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    return found


def test_the_panels_of_the_dashboard_have_a_place_of_their_own_and_a_question(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert all(target["expr"] for target in panel["targets"])
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_expressions_of_the_dashboard_are_valid(dashboard: dict[str, Any], tmp_path: Path) -> None:
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"panel:{number}", "expr": one.replace("$__rate_interval", "1m")}
        for number, one in enumerate(expressions)
    ]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        [program("promtool"), "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
