"""The gate table, `--feature-gates` and what components make of it."""

import pytest

from moorage.model import gates
from moorage.model.gates import Component, GateError, component_gates, default_gates, gates_from, parse_feature_gates

ALPHA = {
    "HPAScaleToZero",
    "TaintTolerationComparisonOperators",
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    "TaintTolerationCEL",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAResourcePoolStatus",
    "DRAWorkloadResourceClaims",
    "UserNamespacesHostNetworkSupport",
    "StorageCapacityScoring",
}
GENERAL = {"DynamicResourceAllocation", "DRAAdminAccess", "DRAPrioritizedList"}
ON_BY_DEFAULT = GENERAL | {
    "MatchLabelKeysInPodAffinity",
    "MatchLabelKeysInPodTopologySpread",
    "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    "PodTopologyLabelsAdmission",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAResourceClaimDeviceStatus",
    "DRAResourceClaimGranularStatusAuthorization",
    "DRASchedulerFilterTimeout",
    "ClearingNominatedNodeNameAfterBinding",
    "GracefulNodeShutdown",
    "GracefulNodeShutdownBasedOnPodPriority",
    "NominatedNodeNameForExpectation",
    "NodeDeclaredFeatures",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "HPAConfigurableTolerance",
}


def test_defaults_are_those_of_the_documents() -> None:
    assert default_gates().names == ON_BY_DEFAULT


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ON_BY_DEFAULT),
        ("AllAlpha=true", ALPHA | ON_BY_DEFAULT),
        ("AllBeta=false", GENERAL),
        (
            "AllAlpha=true,AllBeta=false,UserNamespacesHostNetworkSupport=false",
            ALPHA - {"UserNamespacesHostNetworkSupport"} | GENERAL,
        ),
        ("AllAlpha=true,TaintTolerationCEL=false", ALPHA - {"TaintTolerationCEL"} | ON_BY_DEFAULT),
        ("TaintTolerationCEL=false,AllAlpha=true", ALPHA - {"TaintTolerationCEL"} | ON_BY_DEFAULT),
        ("AllBeta=false,MatchLabelKeysInPodAffinity=true", GENERAL | {"MatchLabelKeysInPodAffinity"}),
        (" TaintTolerationCEL = T , ", {"TaintTolerationCEL"} | ON_BY_DEFAULT),
    ],
)
def test_a_gate_named_wins_over_its_stage_whatever_the_order(text: str, names: set[str]) -> None:
    assert gates_from(parse_feature_gates(text)).names == names


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("TaintTolerationCEL", "missing bool value for TaintTolerationCEL"),
        (
            "TaintTolerationCEL=yes",
            'invalid value of TaintTolerationCEL=yes, err: strconv.ParseBool: parsing "yes": invalid syntax',
        ),
    ],
)
def test_bad_syntax_is_refused_in_kubernetes_words(text: str, complaint: str) -> None:
    with pytest.raises(GateError) as refusal:
        parse_feature_gates(text)
    assert str(refusal.value) == complaint


def test_an_unknown_gate_lists_the_known_ones() -> None:
    with pytest.raises(GateError) as refusal:
        gates_from({"TaintTolerationCell": True})
    message = str(refusal.value)
    assert message.startswith("unrecognized feature gate: TaintTolerationCell ")
    assert all(gate.name in message for gate in gates.GATES)
    assert "AllAlpha" in message
    assert "AllBeta" in message


def test_a_gate_cannot_be_on_without_the_gate_it_needs() -> None:
    with pytest.raises(GateError, match="depends on features that are disabled"):
        gates_from({"MatchLabelKeysInPodTopologySpread": False})


def test_a_locked_gate_can_be_set_to_its_default_only() -> None:
    assert gates_from({"DRAAdminAccess": True}) == default_gates()
    with pytest.raises(GateError) as refusal:
        gates_from({"DRAAdminAccess": False})
    assert str(refusal.value) == "cannot set feature gate DRAAdminAccess to false, feature is locked to true"


def test_each_component_has_values_of_its_own() -> None:
    values = component_gates(["AllAlpha=true"], {Component.KUBELET: ["TaintTolerationCEL=false"]})
    assert values[Component.API_SERVER].enabled(gates.TAINT_TOLERATION_CEL)
    assert not values[Component.KUBELET].enabled(gates.TAINT_TOLERATION_CEL)
    assert values[Component.KUBELET].enabled(gates.TAINT_TOLERATION_COMPARISON_OPERATORS)


def test_history_tells_which_releases_accept_a_feature() -> None:
    assert gates.MATCH_LABEL_KEYS_IN_POD_AFFINITY.accepted_from() == 29
    assert gates.MATCH_LABEL_KEYS_IN_POD_AFFINITY.accepted_by_default_from() == 31
    assert gates.TAINT_TOLERATION_COMPARISON_OPERATORS.accepted_by_default_from() is None
    assert gates.TAINT_TOLERATION_CEL.accepted_from() is None


def test_a_gate_set_can_be_changed_one_gate_at_a_time() -> None:
    off = default_gates()
    on = off.with_gate(gates.TAINT_TOLERATION_CEL, True)
    assert on.enabled(gates.TAINT_TOLERATION_CEL)
    assert on.with_gate(gates.TAINT_TOLERATION_CEL, False) == off
