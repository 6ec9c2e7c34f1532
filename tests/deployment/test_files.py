"""The files for containers: what they set exists, and a cluster would take them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from cronograph.jobs.store.statements.figures.cluster import ClusterFigures
from cronograph.server.configuration.settings import ENV_PREFIX, NAMES
from cronograph.server.http.side_port import DEFAULT_PORT
from cronograph.server.metrics.page import scale
from tests.deployment.containerfile import FOLDER, environment, read

KUBERNETES = FOLDER / "kubernetes"
KEDA = KUBERNETES / "overlays" / "keda"
MANIFESTS = sorted(
    path for path in KUBERNETES.rglob("*.yaml") if path.name != "kustomization.yaml" and path.parent != KEDA
)
OVERLAYS = sorted(path.parent for path in KUBERNETES.glob("overlays/*/kustomization.yaml"))
GRACE = 25 + 10
"""`drain_timeout` and `hard_stop_grace` together."""


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def validated(document: dict[str, Any]) -> None:
    """Let a manifest pass that Kubernetes takes, without a field that it does not know."""
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(KUBERNETES)))
def test_kubernetes_takes_each_manifest(path: Path) -> None:
    validated(loaded(path))


def test_what_scales_the_workers_asks_for_what_there_is() -> None:
    """KEDA's own schema is at no registry: what the files name is compared with what there is."""
    scaled, authentication = (loaded(KEDA / f"{name}.yaml") for name in ("scaled-object", "authentication"))
    workers = loaded(KUBERNETES / "overlays" / "workers" / "workers.yaml")
    assert scaled["spec"]["scaleTargetRef"]["name"] == workers["metadata"]["name"]
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
    url = httpx.URL(trigger["metadata"]["url"])
    service = loaded(KUBERNETES / "base" / "service.yaml")
    assert (url.host, url.port) == (f"{service['metadata']['name']}.cronograph.svc", None)
    assert service["spec"]["ports"][0]["port"] == 80
    figures = ClusterFigures({}, [], {}, 0, {}, 0.0)
    assert trigger["metadata"]["valueLocation"] in scale(figures)
    assert set(url.params) <= {"group", "job", "slots"}


def test_a_wrong_manifest_is_not_taken() -> None:
    document = loaded(KUBERNETES / "base" / "nodes.yaml")
    document["spec"]["replica"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        validated(document)


@pytest.mark.parametrize("folder", [KUBERNETES / "base", *OVERLAYS], ids=lambda path: path.name)
def test_each_customization_names_files_that_are_there(folder: Path) -> None:
    customization = loaded(folder / "kustomization.yaml")
    there = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    named = set(customization["resources"])
    assert {name for name in named if name.endswith(".yaml")} == there
    assert all((folder / name).resolve().is_dir() for name in named if not name.endswith(".yaml"))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed: overlays are not put together")
@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda path: path.name)
def test_kubectl_puts_each_overlay_together(folder: Path) -> None:
    ended = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    documents = list(yaml.safe_load_all(ended.stdout))
    for document in documents:
        if not document["apiVersion"].startswith("keda.sh/"):
            validated(document)
    assert {document["metadata"]["namespace"] for document in documents} == {"cronograph"}
    deployed = {one["metadata"]["name"]: one["spec"] for one in documents if one["kind"] == "Deployment"}
    expected = {
        "production": {"cronograph": 5},
        "workers": {"cronograph": 3, "cronograph-worker": 10},
        # Their number is the autoscaler's.
        "keda": {"cronograph": 3, "cronograph-worker": None},
    }
    assert {name: spec.get("replicas") for name, spec in deployed.items()} == expected[folder.name]


def deployments() -> list[dict[str, Any]]:
    found = (loaded(path) for path in MANIFESTS)
    return [one for one in found if one["kind"] == "Deployment"]


def test_pods_may_change_nothing_and_have_time_to_drain() -> None:
    for deployment in deployments():
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        before = container.get("lifecycle", {"preStop": {"exec": {"command": ["sleep", "0"]}}})["preStop"]
        assert pod["terminationGracePeriodSeconds"] > GRACE + float(before["exec"]["command"][1])
        user = next(line.rest for line in read() if line.instruction == "USER")
        assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, int(user))
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
        assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert {container[probe]["httpGet"]["port"] for probe in ("readinessProbe", "livenessProbe")} <= ports.keys()
        assert ports.get("metrics") == DEFAULT_PORT


def test_everybody_who_chooses_pods_chooses_those_of_the_deployment() -> None:
    labels = loaded(KUBERNETES / "base" / "nodes.yaml")["spec"]["template"]["metadata"]["labels"]
    service, disruption, network = (
        loaded(KUBERNETES / "base" / f"{name}.yaml")["spec"] for name in ("service", "disruption", "network")
    )
    assert service["selector"] == labels
    assert disruption["selector"]["matchLabels"] == labels
    assert network["podSelector"]["matchLabels"] == labels


def test_every_variable_is_a_setting() -> None:
    named = set(environment(read()))
    for container in (one["spec"]["template"]["spec"]["containers"][0] for one in deployments()):
        named |= {variable["name"] for variable in container["env"]}
    compose = loaded(FOLDER / "compose.yaml")["services"]["node"]
    named |= compose["environment"].keys()
    ours = {name.removeprefix(ENV_PREFIX).lower() for name in named if name.startswith(ENV_PREFIX)}
    assert ours <= set(NAMES)
    assert {"host", "jobs", "database_url", "public_url", "secret_key", "node_name"} <= ours


def test_the_compose_file_has_three_nodes_that_may_change_nothing() -> None:
    services = loaded(FOLDER / "compose.yaml")["services"]
    node = services["node"]
    assert (node["deploy"]["replicas"], node["read_only"], node["cap_drop"]) == (3, True, ["ALL"])
    assert float(node["stop_grace_period"].rstrip("s")) > GRACE
    assert (FOLDER / node["build"]["dockerfile"]).is_file()
    port = environment(read())["CRONOGRAPH_PORT"]
    assert f"--to node:{port}" in services["proxy"]["command"]
    subnet = loaded(FOLDER / "compose.yaml")["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert node["environment"]["CRONOGRAPH_TRUSTED_PROXIES"] == subnet


def test_what_people_set_is_said_at_the_top_of_the_compose_file() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    head = text.partition("services:")[0]
    assert set(re.findall(r"\$\{([A-Z_]+)", text)) == set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", head))
