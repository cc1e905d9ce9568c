"""The three gates of tolerations, and the same cast for each: nodes, pods and workloads that depend on it.

In: a gate's name. Out: a `Feature`: how it is written in a toleration, and the API server's words when it is off.
"""

from typing import Any, NamedTuple

from tests.e2e.stories.stage import Raw, node, pod

KEY = "version"
TERM = "requiredDuringSchedulingIgnoredDuringExecution"
_NOT_TOLD = '.operator: Unsupported value: "{}": supported values: {}'
_NO_SELECTOR = '.operator: Invalid value: "SemverGt": not a valid selector operator'


class Feature(NamedTuple):
    """A toleration of any `version` above 4, written with what one gate guards."""

    gate: str
    toleration: Raw
    complaint: str

    def complaint_about(self, kind: str, name: str, path: str = "spec") -> str:
        """What kubectl prints of a refused object whose first toleration uses it."""
        return f'The {kind} "{name}" is invalid: {path}.tolerations[0]{self.complaint}'

    @property
    def obstacle(self) -> str:
        """What FailedScheduling says of it where the gate is off in the scheduler."""
        what = f"operator {self.toleration['operator']}" if "operator" in self.toleration else "an expression"
        return f"{what} needs the feature gate {self.gate} in the scheduler"

    def pod(self, name: str, *more: Raw, **spec: Any) -> Raw:
        return pod(name, self.toleration, *more, **spec)

    def another(self) -> Raw:
        """A second use of the same feature."""
        if "expression" in self.toleration:
            return {"expression": "taint.key == 'other'"}
        return {**self.toleration, "key": "other"}


NUMBERS = Feature(
    "TaintTolerationComparisonOperators",
    {"key": KEY, "operator": "Gt", "value": "4"},
    _NOT_TOLD.format("Gt", '"Equal", "Exists", "Lt", "Gt"'),
)
VERSIONS = Feature(
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    {"key": KEY, "operator": "SemverGt", "value": "4"},
    _NOT_TOLD.format("SemverGt", '"Equal", "Exists"'),
)
EXPRESSIONS = Feature(
    "TaintTolerationCEL",
    {"expression": f"taint.key == '{KEY}' && int(taint.value) > 4"},
    ".expression: Forbidden: may not be set when the TaintTolerationCEL feature gate is disabled",
)
FEATURES = (NUMBERS, VERSIONS, EXPRESSIONS)
LABEL_KEYS = "MatchLabelKeysInPodAffinity"

#: Pods stay on `five` whatever happens, and have to leave `strict` when their toleration is not seen any more.
FIVE = node("five", f"{KEY}=5:NoSchedule", pool="five", version="5")
STRICT = node("strict", f"{KEY}=5:NoExecute", pool="strict", version="5")
PLAIN = node("plain", pool="plain")
#: Comes later, for those who wait.
SIX = node("six", f"{KEY}=6:NoSchedule", pool="six", version="6")


def on(pool: str) -> Raw:
    return {"pool": pool}


def workload(kind: str, name: str, feature: Feature, selector: Raw | None = None, **spec: Any) -> Raw:
    """A Deployment or DaemonSet whose pods depend on a feature."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": feature.pod("")["spec"]}
    template["spec"]["terminationGracePeriodSeconds"] = 0
    if selector is not None:
        template["spec"]["nodeSelector"] = selector
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


# -- what only the semver operators have ------------------------------------------------------------------------------

_ABOVE_FOUR = {"matchExpressions": [{"key": KEY, "operator": "SemverGt", "values": ["4"]}]}
AFFINITY_COMPLAINT = (
    f"spec.affinity.nodeAffinity.{TERM}.nodeSelectorTerms[0].matchExpressions[0]{_NO_SELECTOR}",
    f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0]{_NO_SELECTOR}",
)


def affine(name: str, **spec: Any) -> Raw:
    """A pod that asks for a node above version 4, and tolerates all of them."""
    required = {TERM: {"nodeSelectorTerms": [_ABOVE_FOUR]}}
    return pod(name, {"operator": "Exists"}, affinity={"nodeAffinity": required}, **spec)


def inclined(name: str, **spec: Any) -> Raw:
    """A pod that would like such a node."""
    preferred = [{"weight": 9, "preference": _ABOVE_FOUR}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return pod(name, {"operator": "Exists"}, affinity=affinity, **spec)


def volume(name: str) -> Raw:
    """For nodes above version 4 only."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "hostPath": {"path": "/data"},
            "claimRef": {"namespace": "default", "name": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [_ABOVE_FOUR]}},
        },
    }


def claim(name: str) -> Raw:
    """Of the volume with the same name."""
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name, "resources": resources}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def reader(name: str, claimed: str) -> Raw:
    """A pod that has nothing of the feature itself, but uses a volume that has."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    return pod(name, {"operator": "Exists"}, volumes=volumes)
