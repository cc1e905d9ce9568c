"""Find pods that a LimitRange or a ResourceQuota of the input refuses, and RuntimeClasses that it does not have.

Namespaces count as empty: only what the input creates is charged, in its order, as many pods as a workload wants.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.limit_ranger import LimitRanger
from moorage.admit.plugins.quota import QuotaBalance, quota_charges
from moorage.admit.prepare.mutate import pod_qos
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.raw import Raw, copy_document
from moorage.lint.facts.class_references import ClassReferences
from moorage.lint.finding import SourcePlace
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.match.quota.usage import COUNTED_KINDS, usage_of
from moorage.model.kinds import KINDS
from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import LimitRange, ResourceQuota, ResourceQuotaStatus

_MAX_KEPT = 2_000
#: The most pods that are charged, all together.
_MAX_CHARGED = 20_000
_ZERO = Quantity.from_int(0)
#: Workloads of which it is not known how many pods there will be at a time.
_UNCOUNTED = ("CronJob", "DaemonSet")


class _Pods(msgspec.Struct):
    """The pods of one object: what each is, how many, and where the object stands."""

    namespace: str
    document: Raw
    number: int
    place: SourcePlace


class LimitFacts:
    """LimitRanges, ResourceQuotas, RuntimeClasses, and the pods that they concern."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[LimitRange]] = {}
        self._quotas: dict[str, dict[str, ResourceQuota]] = {}
        self._classes = ClassReferences("RuntimeClass", "runtime-class-missing")
        self._pods: list[_Pods] = []

    def add(self, subject: Subject) -> None:
        if subject.kind == "RuntimeClass":
            self._classes.has(subject.view.metadata.name)
        elif subject.kind == "LimitRange":
            self._ranges.setdefault(_namespace(subject), []).append(subject.view)
        elif subject.kind == "ResourceQuota":
            self._add_quota(subject)
        elif subject.pods is not None:
            spec = subject.pods.spec
            if spec.runtimeClassName and not spec.nodeName:
                self._classes.refer(spec.runtimeClassName, subject, "runtimeClassName")
            self._add_pods(subject)

    def _add_quota(self, subject: Subject) -> None:
        quota: ResourceQuota = subject.view
        counted = {
            name: _ZERO
            for kind in COUNTED_KINDS
            if (counting := usage_of(kind)) is not None
            for name in counting.names(quota.spec.hard)
        }
        status = ResourceQuotaStatus(hard=quota.spec.hard, used=counted)
        quotas = self._quotas.setdefault(_namespace(subject), {})
        quotas[quota.metadata.name] = msgspec.structs.replace(quota, status=status)

    def _add_pods(self, subject: Subject) -> None:
        pods, spec = subject.pods, subject.view.spec
        assert pods is not None
        if len(self._pods) >= _MAX_KEPT or pods.spec.nodeName:
            return  # a pod with a node has been let in
        document: Any = subject.document.raw
        for step in subject.served.template or ():
            document = document.get(step) or {}
        number = 0 if subject.kind in _UNCOUNTED else 1
        if subject.kind == "Job":
            number = min(spec.parallelism or 1, spec.completions or spec.parallelism or 1)
        elif number and subject.kind != "Pod":
            number = 1 if spec.replicas is None else spec.replicas
        place = subject.place(f"{pods.spec_path}.containers")
        self._pods.append(_Pods(_namespace(subject), document, number, place))

    def complaints(self) -> Iterator[PlacedComplaint]:
        yield from self._classes.complaints()
        known = ((KINDS.LIMIT_RANGE, view) for views in self._ranges.values() for view in views)
        ranger = LimitRanger(ObjectsWorld.of(known))
        balances = {
            namespace: {name: dict(quota.status.used) for name, quota in quotas.items()}
            for namespace, quotas in self._quotas.items()
        }
        left = _MAX_CHARGED
        for pods in self._pods:
            if pods.namespace not in self._ranges and pods.namespace not in self._quotas:
                continue
            pod = _completed(pods, ranger)
            if pod is None:
                continue
            try:
                ranger.validate_pod(pod)
            except Forbidden as refusal:
                message = f"a LimitRange refuses the pods: {refusal}"
                yield Complaint("limit-range-refuses", pods.place.path, message), pods.place
                continue
            if pods.namespace in self._quotas and left > 0:
                left -= pods.number
                yield from self._charge(pods, convert_view(pod, Pod), balances[pods.namespace])

    def _charge(self, pods: _Pods, pod: Pod, used: dict[str, ResourceAmounts]) -> Iterator[PlacedComplaint]:
        counting = usage_of(KINDS.POD)
        assert counting is not None
        quotas = self._quotas[pods.namespace]
        for number in range(max(1, min(pods.number, _MAX_CHARGED))):
            try:
                balances = [QuotaBalance(quotas[name], used[name]) for name in sorted(quotas)]
                charges = quota_charges(counting, pod, None, balances, "", 0.0)
            except Forbidden as refusal:
                which = f"{number} of {pods.number} pods fit: " if number else "a ResourceQuota refuses the pods: "
                yield Complaint("quota-refuses", pods.place.path, f"{which}{refusal}"), pods.place
                return
            for name, amounts in charges if pods.number else ():
                add_amounts(used[name], amounts)


def _namespace(subject: Subject) -> str:
    namespace: str = subject.view.metadata.namespace
    return namespace or "default"


def _completed(pods: _Pods, ranger: LimitRanger) -> Raw | None:
    """Return the pod as it would be created; None if its document is not one."""
    metadata = pods.document.get("metadata")
    pod: Raw = {**copy_document(pods.document), "metadata": {**(metadata or {}), "namespace": pods.namespace}}
    try:
        convert_view(pod, Pod)
    except ConversionError:
        return None
    default_pod(pod)
    ranger.admit(KINDS.POD, pod, None)
    pod["status"] = {"qosClass": pod_qos(pod["spec"])}
    return pod
