"""Name the labels, annotations and the marker of format v1, of which no byte may ever change.

They are part of the hashes of pod templates: another byte would roll out every lowered workload. A later format gets
other names. Nodes have the version as the value of MIRRORED; pods of a later format would have it in FORMAT.

Kubernetes: knows none of them; to it they are labels, annotations and a toleration of a taint that no node has.
"""

import json
from hashlib import sha256
from typing import Any, Final

from moorage.model.names import byte_length
from moorage.model.well_known import taints
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

Raw = dict[str, Any]

VERSION: Final = "v1"
DOMAIN: Final = "moorage.dev"

# -- nodes: the mirror of taints, and of labels that are versions ------------------------------------------------------

MIRRORED: Final = "moorage.dev/mirrored"
TAINT_DOMAIN: Final = "taint.moorage.dev"
LABEL_VERSION_DOMAIN: Final = "ver.label.moorage.dev"
MATCH_DOMAIN: Final = "match.moorage.dev"
#: The value of a taint; the same if it is a canonical integer; the ordered integer if it is a version.
RAW_VALUE, NUMBER, ORDERED_VERSION = "raw", "num", "ver"
EFFECT_NAMES: Final = {
    NO_SCHEDULE: "noschedule",
    NO_EXECUTE: "noexecute",
    PREFER_NO_SCHEDULE: "prefernoschedule",
}
#: Taints with these keys come and go with the state of the node; match labels do not depend on them. Others with the
#: same prefix have values that users compare, such as node.kubernetes.io/sla of KEP-5471.
NODE_STATE_KEYS: Final = (
    taints.NOT_READY,
    taints.UNREACHABLE,
    taints.MEMORY_PRESSURE,
    taints.DISK_PRESSURE,
    taints.PID_PRESSURE,
    taints.NETWORK_UNAVAILABLE,
    taints.UNSCHEDULABLE,
    taints.OUT_OF_SERVICE,
    taints.UNINITIALIZED,
    taints.SHUTDOWN,
)
MAX_PREFIX: Final = 253
#: The subresource of nodes that changes labels, too.
STATUS: Final = "status"

# -- pods and pod templates ----------------------------------------------------------------------------------------

ANNOTATION_DOMAIN: Final = "attach.moorage.dev"
FORMAT: Final = "attach.moorage.dev/format"
TOLERATIONS: Final = "attach.moorage.dev/tolerations"
NODE_AFFINITY: Final = "attach.moorage.dev/node-affinity"
PREFERRED_NODE_AFFINITY: Final = "attach.moorage.dev/preferred-node-affinity"
MARKER_KEY: Final = "attach.moorage.dev/lowered"
#: Users write this annotation with the value TRUE: operators that the cluster knows are to be the cluster's again.
NATIVE: Final = "attach.moorage.dev/native"
TRUE: Final = "true"
#: Namespaces and objects with this label and the value TRUE are left alone.
EXEMPT: Final = "attach.moorage.dev/exempt"
#: The Service and the Deployment of the webhook, and its argument on the way back.
WEBHOOK: Final = "moorage-attach-webhook"
REFUSES_NEW: Final = "--new-comparisons=refuse"
#: The operator of a toleration whose value is a CEL expression about the taint.
CEL: Final = "CEL"
#: More terms than this become one match label.
MAX_TERMS: Final = 64
#: The weight of each preferred term for a PreferNoSchedule taint.
SOFT_WEIGHT: Final = 100


def marker() -> Raw:
    """Return the toleration that says: this list of tolerations is lowered."""
    return {"effect": PREFER_NO_SCHEDULE, "key": MARKER_KEY, "operator": "Exists"}


def taint_label(content: str, effect: str, key: str) -> str | None:
    """Return the label for a taint of this key and effect; None if its prefix would be too long."""
    return _below(f"{content}.{EFFECT_NAMES[effect]}.{TAINT_DOMAIN}", key)


def version_label(key: str) -> str | None:
    """Return the label that has the ordered integer of a node label; None if it can have none."""
    return None if is_own_domain(key) else _below(LABEL_VERSION_DOMAIN, key)


def match_label(question: Any) -> str:
    """Return the label of the nodes for which a question is true: its JSON is hashed."""
    return f"{MATCH_DOMAIN}/{sha256(written(question).encode()).hexdigest()[:20]}"


def is_own_domain(key: str) -> bool:
    prefix, slash, _ = key.partition("/")
    return bool(slash) and (prefix == DOMAIN or prefix.endswith(f".{DOMAIN}"))


def is_mirror_label(key: str) -> bool:
    """Whether the label belongs to the mirror, which writes it and removes it."""
    prefix, slash, _ = key.partition("/")
    if not slash:
        return False
    return prefix.endswith((f".{TAINT_DOMAIN}", f".{LABEL_VERSION_DOMAIN}")) or prefix == LABEL_VERSION_DOMAIN


def is_match_label(key: str) -> bool:
    return key.startswith(f"{MATCH_DOMAIN}/")


def is_of_taints(key: str) -> bool:
    """Whether a requirement on this label is one that lowering tolerations has added."""
    prefix, slash, _ = key.partition("/")
    return bool(slash) and (prefix.endswith(f".{TAINT_DOMAIN}") or prefix == MATCH_DOMAIN)


def written(value: Any) -> str:
    """Return JSON as annotations and hashes have it: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _below(domain: str, key: str) -> str | None:
    prefix, _, name = key.rpartition("/")
    full = f"{prefix}.{domain}" if prefix else domain
    return f"{full}/{name}" if byte_length(full) <= MAX_PREFIX else None
