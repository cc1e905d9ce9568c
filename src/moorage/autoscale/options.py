"""Define the options of autoscalers, under the names and with the defaults that they have there, and read them.

Kubernetes: Cluster Autoscaler's flags and Karpenter's settings. Differs: `provisioning-delay` and
`startup-taints-delay` are ours: how long a cloud takes for a node, and the removal of startup taints. Room is kept by
CapacityBuffers unless that is switched off, where both have to be told to do it.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import msgspec

from moorage.model.go.times import DurationError, parse_duration
from moorage.model.text.readers import reads_text
from moorage.pools.node_template import Scaler

EXPANDERS = ("least-waste", "most-pods", "price", "priority", "least-nodes", "random")
Seconds = float
_MAX_SECONDS = 30 * 86400.0


class OptionError(ValueError):
    """An option that there is not, or a value that it cannot have: one line for the user."""


class CloudOptions(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """What both autoscalers have to be given: how long a cloud and its nodes take."""

    provisioning_delay: Seconds = 60.0
    startup_taints_delay: Seconds = 10.0


class ClusterAutoscalerOptions(CloudOptions, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The flags of Cluster Autoscaler that are followed."""

    scan_interval: Seconds = 10.0
    expander: str = "least-waste"
    max_nodes_total: int = 0
    max_nodes_per_scaleup: int = 1000
    new_pod_scale_up_delay: Seconds = 0.0
    expendable_pods_priority_cutoff: int = -10
    enforce_node_group_min_size: bool = False
    scale_down_enabled: bool = True
    scale_down_unneeded_time: Seconds = 600.0
    scale_down_delay_after_add: Seconds = 600.0
    scale_down_delay_after_delete: Seconds = 0.0
    scale_down_delay_after_failure: Seconds = 180.0
    scale_down_utilization_threshold: float = 0.5
    scale_down_gpu_utilization_threshold: float = 0.5
    ignore_daemonsets_utilization: bool = False
    max_scale_down_parallelism: int = 10
    max_drain_parallelism: int = 1
    max_pod_eviction_time: Seconds = 120.0
    unremovable_node_recheck_timeout: Seconds = 300.0
    node_delete_delay_after_taint: Seconds = 5.0
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_custom_controller_pods: bool = True
    min_replica_count: int = 0
    blocking_system_pod_disruption_timeout: Seconds = 3600.0
    capacity_buffer_pod_injection_enabled: bool = True


class KarpenterOptions(CloudOptions, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The settings of Karpenter that are followed."""

    batch_idle_duration: Seconds = 1.0
    batch_max_duration: Seconds = 10.0
    spot_to_spot_consolidation: bool = False
    capacity_buffer: bool = True


Options = ClusterAutoscalerOptions | KarpenterOptions
_TYPES: dict[Scaler, type[Any]] = {
    Scaler.CLUSTER_AUTOSCALER: ClusterAutoscalerOptions,
    Scaler.KARPENTER: KarpenterOptions,
}


def read_options(scaler: Scaler, words: Iterable[str] = ()) -> Options:
    """Return the options of an autoscaler with those that words such as `expander=price` give. Raises OptionError."""
    kind = _TYPES[scaler]
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.removeprefix("--").partition("=")
        if name not in fields:
            near = next(iter(get_close_matches(name[:80], fields, n=1)), None)
            hint = f"; did you mean {near}?" if near else f"; there are {', '.join(sorted(fields))}"
            raise OptionError(f"{scaler} has no option {name!r} here{hint}")
        if not equals or not text:
            raise OptionError(f"{word!r} is not of the form NAME=VALUE")
        values[fields[name].name] = _read(name, text, fields[name].default)
    options: Options = kind(**values)
    if isinstance(options, ClusterAutoscalerOptions):
        _check(options)
    return options


def _read(name: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text]
        if isinstance(default, float):
            return _share(text) if name.endswith("-threshold") else _seconds(text)
        return int(text[:12]) if isinstance(default, int) else text
    except (KeyError, ValueError) as error:
        kinds = {bool: "true or false", int: "a number"}
        default_text = "a share from 0 to 1" if name.endswith("-threshold") else "a duration such as 10m"
        expected = kinds.get(type(default), default_text)
        more = f": {error}" if isinstance(error, DurationError) else ""
        raise OptionError(f"{name}: {text!r} is not {expected}{more}") from None


@reads_text("1", "m", "h", "s", ".", "-", raises=ValueError)
def _seconds(text: str) -> float:
    seconds = parse_duration(text) / 1e9
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError("out of range")
    return seconds


@reads_text("0", ".", "5", "-", "e", raises=ValueError)
def _share(text: str) -> float:
    share = float(text[:40])
    if not 0 <= share <= 1:
        raise ValueError("out of range")
    return share


def _check(options: ClusterAutoscalerOptions) -> None:
    for name in options.expander.split(",")[:32]:
        if name not in EXPANDERS:
            raise OptionError(f"expander: {name!r} is not one of {', '.join(EXPANDERS)}")
    if options.scan_interval < 1:
        raise OptionError("scan-interval must be at least 1s")
    for field in ("max_nodes_total", "max_nodes_per_scaleup", "max_scale_down_parallelism", "max_drain_parallelism"):
        if getattr(options, field) < 0:
            raise OptionError(f"{field.replace('_', '-')} must not be negative")
