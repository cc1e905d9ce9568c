"""Options of validation: the gates that are on, and (see `ratcheting`) what the old object already had.

The `validate_*` functions read `ValidationOptions` instead of gates. Kubernetes: PodValidationOptions, as derived in
pkg/api/pod/util.go. Differs: options whose gate is on by default in 1.36 are not options here, and KEP-5721 and
KEP-5500, which no release has, have theirs.
"""

from functools import lru_cache

import msgspec

from moorage.match.operators import OPERATOR_GATES
from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    TAINT_TOLERATION_CEL,
    USER_NAMESPACES_HOST_NETWORK_SUPPORT,
    Gate,
    GateSet,
)


class ValidationOptions(msgspec.Struct, frozen=True):
    """Everything off is the strictest reading: a create with all gates off."""

    resource_is_pod: bool = False
    allow_privileged: bool = False  # the API server's --allow-privileged, which is off unless a cluster turns it on

    #: The gates themselves: device selectors are compiled by them.
    gates: GateSet = GateSet(frozenset())

    # Features: on by their gate, or because the old object already uses them.
    operator_gates: frozenset[str] = frozenset()  # names of the gates whose operators are allowed
    allow_taint_toleration_cel: bool = False
    allow_match_label_keys_in_pod_topology_spread: bool = False
    allow_match_label_keys_in_pod_topology_spread_selector_merge: bool = False

    # Mistakes of the old object that an update need not repair.
    allow_invalid_label_value_in_selector: bool = False
    allow_invalid_label_value_in_required_node_affinity: bool = False
    allow_invalid_topology_spread_constraint_label_selector: bool = False
    old_pod_violates_match_label_keys_validation: bool = False
    old_pod_violates_legacy_match_label_keys_validation: bool = False
    allow_invalid_pod_deletion_cost: bool = False
    allow_indivisible_huge_pages_values: bool = False
    allow_non_local_projected_token_path: bool = False
    allow_namespaced_sysctls_for_host_net_and_host_ipc: bool = False
    allow_existing_restart_container_for_non_sidecar_init_container: bool = False
    allow_user_namespaces_with_volume_devices: bool = False
    allow_user_namespaces_host_network_support: bool = False
    allow_only_recursive_selinux_change_policy: bool = True

    def allows_operators_of(self, gate: Gate | None) -> bool:
        return gate is None or gate.name in self.operator_gates


STRICT = ValidationOptions()


@lru_cache(maxsize=64)
def options_for_create(gates: GateSet, *, resource_is_pod: bool = False) -> ValidationOptions:
    """Options for an object that has no past: the gates decide alone."""
    return ValidationOptions(
        resource_is_pod=resource_is_pod,
        gates=gates,
        operator_gates=frozenset(gate.name for gate in OPERATOR_GATES if gates.enabled(gate)),
        allow_taint_toleration_cel=gates.enabled(TAINT_TOLERATION_CEL),
        allow_match_label_keys_in_pod_topology_spread=gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD),
        allow_match_label_keys_in_pod_topology_spread_selector_merge=gates.enabled(
            MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE
        ),
        allow_user_namespaces_host_network_support=gates.enabled(USER_NAMESPACES_HOST_NETWORK_SUPPORT),
    )


@lru_cache(maxsize=64)
def with_privileged(options: ValidationOptions) -> ValidationOptions:
    return msgspec.structs.replace(options, allow_privileged=True)
