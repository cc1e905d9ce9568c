"""Show the state of pods and nodes as metrics, on the page `/metrics/kube-state`.

Names, labels, order and help texts are those of kube-state-metrics. The page is written family by family, in slices of
about two milliseconds. Differs: only the families of pods and nodes that scheduling is about.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind, view_of
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.serve.http.messages import Stream
from moorage.serve.requests.long_work import SLICE_SECONDS, next_turn
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Store, Stored
from moorage.telemetry.metrics import TEXT

_PAGE = 1000

Label = tuple[str, str]
StateSample = tuple[tuple[Label, ...], float]

_PHASES = tuple((one, (("phase", one),)) for one in ("Pending", "Succeeded", "Failed", "Unknown", "Running"))
_CONDITIONS = tuple((one, (("condition", one.lower()),)) for one in ("True", "False", "Unknown"))


class StateFamily(NamedTuple):
    """One metric: its name, help text, and the samples of one object."""

    name: str
    help: str
    samples: Callable[[Any], Iterable[StateSample]]


def _pod_info(pod: Pod) -> Iterable[StateSample]:
    owner = next(
        (owner_reference for owner_reference in pod.metadata.ownerReferences if owner_reference.controller), None
    )
    yield (
        (
            ("host_ip", pod.status.hostIP),
            ("pod_ip", pod.status.podIP),
            ("node", pod.spec.nodeName),
            ("created_by_kind", owner.kind if owner is not None else ""),
            ("created_by_name", owner.name if owner is not None else ""),
            ("priority_class", pod.spec.priorityClassName),
            ("host_network", "true" if pod.spec.hostNetwork else "false"),
        ),
        1,
    )


def _created(object_: Pod | Node) -> Iterable[StateSample]:
    if (seconds := seconds_of(object_.metadata.creationTimestamp)) is not None:
        yield (), seconds


def _phase(pod: Pod) -> Iterable[StateSample]:
    phase = pod.status.phase
    if phase:
        yield from ((labels, float(one == phase)) for one, labels in _PHASES)


def _pod_condition(kind: str) -> Callable[[Pod], Iterable[StateSample]]:
    def samples(pod: Pod) -> Iterable[StateSample]:
        for condition in pod.status.conditions:
            if condition.type == kind:
                yield from ((labels, float(one == condition.status)) for one, labels in _CONDITIONS)

    return samples


def _scheduled_time(pod: Pod) -> Iterable[StateSample]:
    for condition in pod.status.conditions:
        is_scheduled = condition.type == "PodScheduled" and condition.status == "True"
        if is_scheduled and (seconds := seconds_of(condition.lastTransitionTime)) is not None:
            yield (), seconds


def _unschedulable(pod: Pod) -> Iterable[StateSample]:
    if any(condition.type == "PodScheduled" and condition.status == "False" for condition in pod.status.conditions):
        yield (), 1


def _tolerations(pod: Pod) -> Iterable[StateSample]:
    for toleration in pod.spec.tolerations:
        seconds = "" if toleration.tolerationSeconds is None else str(toleration.tolerationSeconds)
        values = (
            ("key", toleration.key),
            ("operator", toleration.operator),
            ("value", toleration.value),
            ("effect", toleration.effect),
            ("toleration_seconds", seconds),
        )
        labels = tuple((name, value) for name, value in values if value)
        if labels:
            yield labels, 1


_PODS = (
    StateFamily("kube_pod_created", "[STABLE] Unix creation timestamp", _created),
    StateFamily("kube_pod_info", "[STABLE] Information about pod.", _pod_info),
    StateFamily("kube_pod_status_phase", "[STABLE] The pods current phase.", _phase),
    StateFamily(
        "kube_pod_status_ready",
        "[STABLE] Describes whether the pod is ready to serve requests.",
        _pod_condition("Ready"),
    ),
    StateFamily(
        "kube_pod_status_scheduled",
        "[STABLE] Describes the status of the scheduling process for the pod.",
        _pod_condition("PodScheduled"),
    ),
    StateFamily(
        "kube_pod_status_scheduled_time",
        "[STABLE] Unix timestamp when pod moved into scheduled status",
        _scheduled_time,
    ),
    StateFamily(
        "kube_pod_status_unschedulable", "[STABLE] Describes the unschedulable status for the pod.", _unschedulable
    ),
    StateFamily("kube_pod_tolerations", "Information about the pod tolerations", _tolerations),
)


def _node_info(node: Node) -> Iterable[StateSample]:
    info = node.status.nodeInfo
    internal = [address.address for address in node.status.addresses if address.type == "InternalIP"]
    yield (
        (
            ("kernel_version", info.kernelVersion),
            ("os_image", info.osImage),
            ("container_runtime_version", info.containerRuntimeVersion),
            ("kubelet_version", info.kubeletVersion),
            ("kubeproxy_version", info.kubeProxyVersion),
            ("provider_id", node.spec.providerID),
            ("pod_cidr", node.spec.podCIDR),
            ("system_uuid", info.systemUUID),
            ("internal_ip", internal[-1] if internal else ""),
        ),
        1,
    )


def _taints(node: Node) -> Iterable[StateSample]:
    for taint in node.spec.taints:
        yield (("key", taint.key), ("value", taint.value), ("effect", taint.effect)), 1


def _node_conditions(node: Node) -> Iterable[StateSample]:
    for condition in node.status.conditions:
        for status, ((_, shown),) in _CONDITIONS:
            yield (("condition", condition.type), ("status", shown)), float(condition.status == status)


_NODES = (
    StateFamily("kube_node_created", "[STABLE] Unix creation timestamp", _created),
    StateFamily("kube_node_info", "[STABLE] Information about a cluster node.", _node_info),
    StateFamily("kube_node_spec_taint", "[STABLE] The taint of a cluster node.", _taints),
    StateFamily(
        "kube_node_spec_unschedulable",
        "[STABLE] Whether a node can schedule new pods.",
        lambda node: [((), float(node.spec.unschedulable))],
    ),
    StateFamily("kube_node_status_condition", "[STABLE] The condition of a cluster node.", _node_conditions),
)


def answer_kube_state(store: Store) -> Stream:
    return Stream(_page(store), TEXT, is_whole=True)


async def _page(store: Store) -> AsyncIterator[bytes]:
    for kind, families in ((KINDS.NODE, _NODES), (KINDS.POD, _PODS)):
        views = await _views(store, kind)
        for family in families:
            yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} gauge\n".encode()
            async for lines in _in_slices(views, lambda seen, family=family: _lines(family, *seen)):
                yield "".join(lines).encode()


async def _views(store: Store, kind: Kind) -> list[tuple[str, Any]]:
    views: list[tuple[str, Any]] = []
    after = ""
    while True:
        items = (await store.list(prefix_of(kind), limit=_PAGE, after=after)).items
        async for some in _in_slices(items, lambda stored: _seen(kind, stored)):
            views += some
        if len(items) < _PAGE:
            return views
        after = items[-1].key
        await next_turn()


async def _in_slices(items: Iterable[Any], work: Callable[..., Any]) -> AsyncIterator[list[Any]]:
    """Do the work for each item, and let others work after some milliseconds."""
    done: list[Any] = []
    began = perf_counter()
    for item in items:
        done.append(work(item))
        if perf_counter() - began > SLICE_SECONDS:
            yield done
            await next_turn()
            done, began = [], perf_counter()
    yield done


def _seen(kind: Kind, stored: Stored) -> tuple[str, Any]:
    """Return an object's own labels, as text, and its view."""
    view: Any = stored.view if type(stored.view) is kind.view else view_of(decode(kind, stored))
    metadata = view.metadata
    if kind is KINDS.NODE:
        return _labels((("node", metadata.name),)), view
    return _labels((("namespace", metadata.namespace), ("pod", metadata.name), ("uid", metadata.uid))), view


def _lines(family: StateFamily, own: str, view: Any) -> str:
    head = f"{family.name}{{{own}"
    return "".join(
        f"{head},{_labels(labels)}}} {_number(value)}\n" if labels else f"{head}}} {_number(value)}\n"
        for labels, value in family.samples(view)
    )


_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@lru_cache(maxsize=4096)
def _labels(labels: tuple[Label, ...]) -> str:
    return ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels)


@lru_cache(maxsize=1024)
def _number(value: float) -> str:
    """Render as Go's strconv does with format g: exponents from a million on."""
    if abs(value) < 1e6:
        return f"{value:g}"
    digits, exponent = f"{value:.15e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{exponent}"
