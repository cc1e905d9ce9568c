"""The default profile is Kubernetes': plugins, order, weights."""

import subprocess
import sys

import pytest
from tests.unit.schedule.clusters import candidates_of, cluster_of, node, passing, pod

from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.schedule.config.default_profile import (
    DEFAULT_SCHEDULER,
    Shared,
    default_profile,
    make_profile,
    program_cache,
)

CEL = gates_from({"TaintTolerationCEL": True})


def test_filters_run_in_kubernetes_order() -> None:
    profile = default_profile(default_gates())
    assert profile.name == DEFAULT_SCHEDULER
    assert [plugin.name for plugin in profile.filters] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]


def test_plugin_whose_gate_is_off_is_left_out() -> None:
    profile = default_profile(GateSet(frozenset()))
    assert "DynamicResources" not in {plugin.name for plugin in profile.filters}
    assert "DynamicResources" not in {plugin.name for plugin, _ in profile.scores}


def test_scores_have_kubernetes_weights() -> None:
    assert {plugin.name: weight for plugin, weight in default_profile(default_gates()).scores} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_volume_binding_scores_with_its_gate() -> None:
    profile = default_profile(gates_from({"StorageCapacityScoring": True}))
    assert {plugin.name: weight for plugin, weight in profile.scores}["VolumeBinding"] == 1


def test_a_plugin_that_filters_and_scores_is_one_and_the_same() -> None:
    profile = default_profile(default_gates())
    filters = {plugin.name: plugin for plugin in profile.filters}
    assert all(filters.get(plugin.name, plugin) is plugin for plugin, _ in profile.scores)


def test_an_expression_is_compiled_once_for_all_plugins() -> None:
    programs = program_cache(CEL)
    assert programs is not None
    cluster = cluster_of(node("a", unschedulable=True, taints=[{"key": "k", "value": "7", "effect": "NoSchedule"}]))
    asked = pod(tolerations=[{"expression": 'taint.key != "k" || int(taint.value) > 5'}])
    shape = cluster.shape_of(asked)
    profile = make_profile(DEFAULT_SCHEDULER, Shared(CEL, programs))
    for plugin in {*profile.filters, *(scoring for scoring, _ in profile.scores)}:
        plugin.prepare(shape, cluster)
    assert programs.misses == 1
    assert programs.hits >= 1
    assert passing(candidates_of(cluster, asked, CEL)) == {"a"}


@pytest.mark.parametrize(("use", "expected"), [("pass", False), ('program_cache(CEL).get("true")', True)])
def test_cel_is_imported_by_the_first_expression(use: str, expected: bool) -> None:
    script = (
        "import sys; from moorage.model.gates import gates_from;"
        "from moorage.schedule.config.default_profile import default_profile, program_cache;"
        'CEL = gates_from({"TaintTolerationCEL": True});'
        f"default_profile(CEL); {use}; print('moorage.match.cel' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(expected)
