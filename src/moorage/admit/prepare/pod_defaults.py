"""Set the defaults of pods and of the pod specs inside templates, in place, and round amounts of resources.

Amounts are rounded up to thousandths; requests default to limits, and a pod's own requests to those of its containers.
Kubernetes: SetDefaults_Pod, SetDefaults_PodSpec, SetDefaults_Container, SetDefaults_Volume, SetDefaults_ResourceList,
zz_generated.defaults.go, component-helpers' AggregateContainerRequests, pkg/util/parsers for image tags, and the
conversion of a pod to the internal version (the older name of the service account, negative grace periods). Differs:
nothing is written that the API server would not show.
"""

from collections.abc import Mapping
from typing import Any

from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model.go.quoting import go_json
from moorage.model.quantity import Quantity, parse_quantity, total_amounts
from moorage.model.text.patterns import Pattern, whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short
from moorage.model.types.storage import VolumeSource

_MAX_REPOSITORY_LENGTH = 255
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}

_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
_REFERENCE = Pattern(
    rf"(?P<name>(?:{_HOST}(?::[0-9]+)?/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*))"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_is_identifier = whole(r"[a-f0-9]{64}")
_is_lower_hex = whole(r"[a-f0-9]+")


@reads_text("a", "A", "/", ":", "@", "sha256", "0", ".", "-", "_", "1")
@remember_short(2048)
def image_tag(image: str) -> str:
    if _is_identifier(image):
        return ""
    reference = _REFERENCE.fullmatch(_normalized(image))
    if reference is None or len(reference["path"]) > _MAX_REPOSITORY_LENGTH:
        return ""
    digest = reference["digest"]
    if digest and not _is_digest(digest):
        return ""
    return reference["tag"] or ("" if digest else "latest")


def _normalized(image: str) -> str:
    """Put the default registry before a name whose first part does not look like a host."""
    first, slash, _ = image.partition("/")
    is_host = slash and (set(".:") & set(first) or first == "localhost" or first.lower() != first)
    if is_host:
        return image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


def _is_digest(digest: str) -> bool:
    algorithm, _, encoded = digest.partition(":")
    return len(encoded) == _HEX_DIGITS.get(algorithm) and _is_lower_hex(encoded)


_TERMINATION = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET = {"path": "/", "scheme": "HTTP"}


def default_pull_policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def default_container(container: Raw) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    fill_empty(container, _TERMINATION)
    for port in items(container, "ports"):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in items(container, "env"):
        source = variable.get("valueFrom")
        if source:
            default_field_reference(source.get("fieldRef"))
            if source.get("fileKeyRef") is not None:
                fill_absent(source["fileKeyRef"], {"optional": False})
    if container.get("resources") is None:
        container["resources"] = {}  # a struct, which Kubernetes always shows
    round_up_lists(container["resources"], "limits", "requests")
    for amounts in ("limits", "requests"):
        if container["resources"].get(amounts) == {}:
            del container["resources"][amounts]  # an empty map is not written
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            fill_empty(probe, _PROBE)
            _default_http_get(probe.get("httpGet"))
            if probe.get("grpc") is not None:
                fill_absent(probe["grpc"], {"service": ""})
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for moment in ("postStart", "preStop"):
            _default_http_get((lifecycle.get(moment) or {}).get("httpGet"))


def default_field_reference(reference: Raw | None) -> None:
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_http_get(action: Raw | None) -> None:
    if action is not None:
        fill_empty(action, _HTTP_GET)


_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_SOURCES = frozenset(VolumeSource.__struct_fields__)
_SOURCES_WITH_MODE = frozenset({"secret", "configMap", "downwardAPI", "projected"})

#: Sources that pods and PersistentVolumes have in common: what to fill where empty, and where absent.
_EMPTY: dict[str, Raw] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_ABSENT: dict[str, Raw] = {
    "hostPath": {"type": ""},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}


def default_volume_source(source: Raw) -> None:
    """Fill in what both a pod's volume and a PersistentVolume may be made of."""
    for name, value in source.items():
        if value is not None and name in _EMPTY:
            fill_empty(value, _EMPTY[name])
        elif value is not None and name in _ABSENT:
            fill_absent(value, _ABSENT[name])


def default_volume(volume: Raw) -> None:
    if all(volume[name] is None for name in _SOURCES.intersection(volume)):
        volume["emptyDir"] = {}
        return
    default_volume_source(volume)
    for name in _SOURCES_WITH_MODE & volume.keys():
        if volume.get(name) is not None:
            fill_absent(volume[name], {"defaultMode": _FILE_MODE})
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = default_pull_policy(image.get("reference") or "")
    for file in items(volume.get("downwardAPI") or {}, "items"):
        default_field_reference(file.get("fieldRef"))
    for projection in items(volume.get("projected") or {}, "sources"):
        for file in items(projection.get("downwardAPI") or {}, "items"):
            default_field_reference(file.get("fieldRef"))
        if projection.get("serviceAccountToken") is not None:
            fill_absent(projection["serviceAccountToken"], {"expirationSeconds": _TOKEN_SECONDS})
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        part(template, "metadata")
        default_claim_spec(part(template, "spec"))


def default_claim_spec(spec: Raw) -> None:
    fill_absent(spec, {"volumeMode": "Filesystem"})
    round_up_lists(spec.get("resources"), "limits", "requests")


DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_GRACE_SECONDS = 30


def default_pod(pod: Raw) -> None:
    spec = part(pod, "spec")
    for name in ("containers", "initContainers"):
        for container in items(spec, name):
            requests_from_limits(container)
            if spec.get("hostNetwork"):
                _default_host_ports(container)
    default_pod_level_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    default_pod_spec(spec)


def default_pod_spec(spec: Raw) -> None:
    """Fill in what a spec gets both in a pod and in a template."""
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = DEFAULT_GRACE_SECONDS
    if not spec.get("schedulerName"):
        spec["schedulerName"] = DEFAULT_SCHEDULER
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in items(spec, "volumes"):
        default_volume(volume)
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for container in items(spec, name):
            default_container(container)
    round_up_lists(spec, "overhead")
    round_up_lists(spec.get("resources"), "limits", "requests")


def _default_host_ports(container: Raw) -> None:
    for port in items(container, "ports"):
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)


_MILLI = -3
_HUGE_PAGES = "hugepages-"
_POD_LEVEL = frozenset({"cpu", "memory"})


def round_up_lists(requirements: Raw | None, *names: str) -> None:
    """Round the amounts in the lists called `names` up to thousandths, as upstream does before validating."""
    if not requirements:
        return
    for name in names:
        amounts = requirements.get(name)
        if not amounts:
            continue
        for resource, amount in amounts.items():
            rounded = _rounded_up(amount_text(amount))
            if rounded is not None:
                amounts[resource] = rounded


def amount_text(amount: Any) -> str:
    """Return an amount as quantities are read: a number may stand without quotes, and a null is nothing of it."""
    if isinstance(amount, str):
        return amount.strip()
    return "0" if amount is None else go_json(amount)


@remember_short(4096)
def _rounded_up(text: str) -> str | None:
    """Return the amount rounded away from zero to thousandths, or None if it is one already."""
    if (text.isdigit() or text[:-1].isdigit() or text[:-2].isdigit()) and not text.endswith(("n", "u")):
        return None
    amount = parse_quantity(text)
    if amount.exponent >= _MILLI:
        return None
    unit = 10 ** (_MILLI - amount.exponent)
    mantissa = -(-abs(amount.mantissa) // unit) * amount.sign()
    rounded = Quantity(mantissa, _MILLI, amount.format, amount.big)
    return None if rounded == amount else str(rounded)


def requests_from_limits(container: Raw) -> None:
    """Set the request of each limited resource that has none to its limit."""
    resources = container.get("resources")
    if not resources or resources.get("limits") is None:
        return
    requests = resources.get("requests")
    if requests is None:
        requests = resources["requests"] = {}
    for name, amount in resources["limits"].items():
        requests.setdefault(name, amount)


def default_pod_level_resources(spec: Raw) -> None:
    """Complete `spec.resources` where it is partly given, from the containers and from its own limits."""
    resources = spec.get("resources")
    if not resources:
        return
    if resources.get("limits") or resources.get("requests"):
        _default_huge_page_limits(spec, resources)
    if resources.get("limits"):
        _default_requests(spec, resources)


def _default_huge_page_limits(spec: Raw, resources: Raw) -> None:
    limits = dict(resources.get("limits") or {})
    requests = resources.get("requests") or {}
    for name, amount in aggregate_containers(spec, "limits").items():
        if name.startswith(_HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        resources["limits"] = limits


def _default_requests(spec: Raw, resources: Raw) -> None:
    requests = dict(resources.get("requests") or {})
    for name, amount in aggregate_containers(spec, "requests").items():
        if name in _POD_LEVEL:
            requests.setdefault(name, str(amount))
    for name, amount in resources["limits"].items():
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def aggregate_containers(spec: Raw, which: str) -> dict[str, Quantity]:
    """Return the requests of all containers together: the sum while running, or the most while starting."""
    init = items(spec, "initContainers")
    return total_amounts(
        (_amounts(container, which) for container in items(spec, "containers")),
        ((container.get("restartPolicy") == "Always", _amounts(container, which)) for container in init),
    )


def _amounts(container: Raw, which: str) -> dict[str, Quantity]:
    amounts: Mapping[str, Any] = (container.get("resources") or {}).get(which) or {}
    return {name: parse_quantity(amount_text(amount)) for name, amount in amounts.items()}
