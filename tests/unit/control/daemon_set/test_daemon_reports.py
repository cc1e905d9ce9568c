"""What the DaemonSet controller says in metrics, logs and events when something cannot be read or done."""

from typing import Any

import pytest
from tests.log_text import log_text
from tests.unit.control.daemon_set.daemon_sets import ON_DELETE, daemon_set, daemons
from tests.virtual_nodes import add_node, change_node, taint

from moorage.control.daemon_set.controller import DaemonSetController
from moorage.control.framework.actions import Delete
from moorage.control.framework.world import World
from moorage.control.registry import CONTROLLERS, ControllerContext
from moorage.model.api_error import internal
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

ALL_ON = gates_from({"AllAlpha": True})


def test_expressions_are_counted_where_they_are_compiled() -> None:
    metrics = Metrics()
    row = next(row for row in CONTROLLERS if row.name == "daemonset-controller")
    made = row.make(ControllerContext(gates=ALL_ON, metrics=metrics, random=lambda: 0.0))
    assert isinstance(made, DaemonSetController)
    names = {family.name for family in metrics.families()}
    assert {
        "daemonset_controller_cel_cache_hits_total",
        "daemonset_controller_cel_cache_misses_total",
        "daemonset_controller_cel_cache_evictions_total",
        "daemonset_controller_cel_evaluation_errors_total",
    } <= names


@pytest.mark.parametrize(
    ("toleration", "text"),
    [
        ({"key": "sla", "operator": "Gt", "value": "5"}, "failed to parse taint value as integer"),
        ({"key": "sla", "operator": "SemverGt", "value": "1.0.0"}, "failed to parse taint value as semantic version"),
        ({"expression": "int(taint.value) > 5"}, "A toleration's expression failed"),
    ],
)
async def test_taints_that_cannot_be_compared_are_told_once(
    toleration: dict[str, Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics()
    async with daemons(0, gates=ALL_ON, metrics=metrics) as found:
        await add_node(found.cluster, "odd", taints=[taint("sla", "none")])
        await found.create(daemon_set(pod_spec={"tolerations": [toleration]}))
        assert await found.where() == []
        await change_node(found.cluster, "odd", {"metadata": {"labels": {"a": "b"}}})
        await found.cluster.settle(5)
        operator = toleration.get("operator", "expression")
        labels = f'source="taint",key="sla",operator="{operator}"'
        assert f"daemonset_controller_unreadable_values_total{{{labels}}}" in metrics.render()[0].decode()
    (line,) = (line for line in log_text(caplog).splitlines() if text in line)
    assert 'node="odd"' in line
    assert 'daemonset="default/agent"' in line


async def test_a_label_that_cannot_be_compared_is_told(caplog: pytest.LogCaptureFixture) -> None:
    terms = [{"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["1.0"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    metrics = Metrics()
    with caplog.at_level(1, "moorage"):
        async with daemons(0, gates=ALL_ON, metrics=metrics) as found:
            await add_node(found.cluster, "odd", labels={"version": "1.2.x"})
            await found.create(daemon_set(pod_spec={"affinity": affinity}))
            assert await found.where() == []
            await change_node(found.cluster, "odd", {"metadata": {"labels": {"a": "b"}}})
            await found.cluster.settle(5)
            labels = 'source="label",key="version",operator="SemverGt"'
            assert f"daemonset_controller_unreadable_values_total{{{labels}}} 2" in metrics.render()[0].decode()
    (line,) = (line for line in log_text(caplog).splitlines() if "failed to parse label value" in line)
    for fact in ('node="odd"', 'daemonset="default/agent"', 'label="version=1.2.x"'):
        assert fact in line


async def test_revisions_without_their_label_get_it() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set(updateStrategy=ON_DELETE))
        (revision,) = await found.revisions()
        patch = {"metadata": {"labels": {"controller-revision-hash": None}}}
        await found.cluster.client.patch(revision.kind, revision.name, "default", patch)
        await found.cluster.settle(10)
        (revision,) = await found.revisions()
        assert revision.view.metadata.labels["controller-revision-hash"] == revision.name


async def test_deletions_that_are_refused_are_told() -> None:
    async with daemons(1) as found:
        await found.create(daemon_set())
        world: World = found.cluster.manager.world
        controller = found.cluster.manager.runners[0].controller
        (said,) = controller.refused("default/agent", Delete(KINDS.POD, "default", "p"), internal("no"), world)
        assert said[1:3] == ("Warning", "FailedDelete")
        assert controller.refused("default/gone", Delete(KINDS.POD, "default", "p"), internal("no"), world) == ()
        other = Delete(KINDS.DAEMON_SET, "default", "p")
        assert controller.refused("default/agent", other, internal("no"), world) == ()
