"""What the API server says: tolerations, taints, node affinity, matchLabelKeys, pod updates.

The vectors were recorded from defaults and strategy alone, so no plugin runs and no metadata is completed.
"""

from typing import Any

from tests.objects import pod

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.model.gates import GateSet, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodSpec

Raw = dict[str, Any]

_COMPARISON = "TaintTolerationComparisonOperators"
_SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"


def _admit(new: Raw, gates: GateSet, old: Raw | None = None) -> Admitted | Rejected:
    return admit(new, old, gates, plugins=(), request=None)


def _errors(answer: Admitted | Rejected) -> list[str]:
    if isinstance(answer, Admitted):
        return []
    return [str(error) for error in answer.errors] or [answer.status["message"]]


def _difference(got: list[str], want: list[str]) -> str | None:
    return None if got == want else f"got {got}, want {want}"


def _pod(spec: Raw, labels: Raw | None = None) -> Raw:
    return pod("p", labels, **spec)


def check_validate_tolerations(case: Raw) -> str | None:
    given = case["in"]
    on = {_COMPARISON: given["comparisonOperators"], _SEMVER: given["semverOperators"]}
    options = ValidationOptions(operator_gates=frozenset(name for name, enabled in on.items() if enabled))
    tolerations = convert_view({"tolerations": given["tolerations"]}, PodSpec).tolerations
    got = [str(error) for error in validate_tolerations(tolerations, "spec.tolerations", options)]
    return _difference(got, case["out"]["errors"])


def check_validate_taints(case: Raw) -> str | None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"taints": case["in"]["taints"]}}
    return _difference(_errors(_admit(node, gates_from({}))), case["out"]["errors"])


def check_validate_node_affinity(case: Raw) -> str | None:
    given = case["in"]
    if given["kind"] == "Pod":
        document = _pod({"affinity": {"nodeAffinity": given["nodeAffinity"]}})
    else:
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
            "nodeAffinity": given["nodeAffinity"],
        }
        document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv1"}, "spec": spec}
    gates = gates_from({_SEMVER: given["semverOperators"]})
    return _difference(_errors(_admit(document, gates)), case["out"]["errors"])


def check_match_label_keys(case: Raw) -> str | None:
    given, want = case["in"], case["out"]
    parts = {name: given[name] for name in ("affinity", "topologySpreadConstraints") if name in given}
    answer = _admit(_pod(parts, given.get("labels")), gates_from(given["gates"]))
    if answer.object is None:
        return f"got {_errors(answer)}, want an object"
    for name in ("affinity", "topologySpreadConstraints"):
        got = _spec_part(name, answer.object["spec"].get(name))
        if got != _spec_part(name, want.get(name)):
            return f"{name}: got {answer.object['spec'].get(name)}, want {want.get(name)}"
    return _difference(_errors(answer), want["errors"])


def _spec_part(name: str, value: Any) -> Any:
    """The part as a typed view, in which what is absent and what is empty are the same, as in the recorded JSON."""
    return getattr(convert_view({name: value}, PodSpec), name)


def check_pod_update(case: Raw) -> str | None:
    given = case["in"]
    new, old = ({"apiVersion": "v1", "kind": "Pod", **given[name]} for name in ("new", "old"))
    answer = _admit(new, gates_from({_COMPARISON: given["comparisonOperators"]}), old)
    return _difference([error.partition("\n")[0] for error in _errors(answer)], case["out"]["heads"])
