"""Texts about where pods go: tolerations and taints, affinity, spreading, priority.

In: nothing. Out: tables that `descriptions` reads.
"""

from typing import Final

from moorage.match.operators import NODE_SELECTOR, TOLERATION, OperatorPlace, comparison_of, gate_of, names_in, siblings


def _comparisons(place: OperatorPlace) -> str:
    """Describe the comparing operators of a place, grouped by what they compare and the gate they need."""
    groups: dict[tuple[str, ...], str] = {}
    for name in names_in(place):
        if (comparison := comparison_of(name, place)) is not None:
            *most, last = names = siblings(name, place)
            gate = gate_of(name, place)
            needs = f", with feature gate {gate.name}" if gate is not None else ""
            groups[names] = f"{', '.join(most)} and {last} ({comparison.kind.plural}{needs})"
    return ", ".join(groups.values())


TYPES: Final[dict[str, str]] = {
    "Affinity": "Which nodes and which neighbours a pod must have, or would rather have.",
    "LabelSelector": "Chooses objects by their labels. All parts must match; an empty selector matches everything.",
    "LabelSelectorRequirement": "One condition on a label.",
    "NodeAffinity": "Conditions on the node that a pod runs on.",
    "NodeSelector": "Chooses nodes: a node is chosen if at least one of the terms matches it.",
    "NodeSelectorRequirement": "One condition on a label or a field of a node.",
    "NodeSelectorTerm": "Conditions of which all must hold. A term without conditions matches no node.",
    "PodAffinity": "Conditions on the pods that already run in the same place.",
    "PodAffinityTerm": "Pods, and the node label that says what counts as one place.",
    "PodAntiAffinity": "Conditions on the pods that must not, or should not, run in the same place.",
    "PodSchedulingGate": "A reason not to schedule the pod yet.",
    "PreferredSchedulingTerm": "A condition on nodes, and what meeting it is worth.",
    "PriorityClass": "A named priority that pods can ask for.",
    "Taint": "A mark on a node that keeps away every pod which does not tolerate it.",
    "Toleration": "Lets a pod onto nodes with a taint that matches: by key and value, by comparison, or by expression.",
    "TopologySpreadConstraint": "How evenly matching pods must be spread over zones, nodes or other domains.",
    "WeightedPodAffinityTerm": "A condition on neighbours, and what meeting it is worth.",
}

FIELDS: Final[dict[str, dict[str, str]]] = {
    "Toleration": {
        "key": "Key of the taints that are meant. Empty, with operator Exists, means every key.",
        "operator": "How the taint's value is compared with `value`: Equal (the default), Exists (any value), "
        f"{_comparisons(TOLERATION)}. The taint's value is the left side of the comparison.",
        "value": "What the taint's value is compared with: a whole number or a version for operators that compare "
        "them, empty for Exists.",
        "effect": "Effect of the taints that are meant. Empty means every effect.",
        "tolerationSeconds": "For how long a NoExecute taint is tolerated once it is there; without it forever, 0 or "
        "less not at all.",
        "expression": "A CEL expression over `taint.key`, `taint.value` and `taint.effect` that is true for the "
        "taints that are tolerated. Stands instead of key, operator, value and effect. Needs feature gate "
        "TaintTolerationCEL.",
    },
    "Taint": {
        "key": "Name of the taint.",
        "value": "Value of the taint, which tolerations may compare with a text, a number or a version.",
        "effect": "What happens to pods that do not tolerate it: NoSchedule keeps new ones away, PreferNoSchedule "
        "tries to, NoExecute also evicts those that run.",
        "timeAdded": "Since when the taint has been there; only for NoExecute.",
    },
    "Affinity": {
        "nodeAffinity": "Conditions on the node itself.",
        "podAffinity": "Pods that must, or should, run in the same place.",
        "podAntiAffinity": "Pods that must not, or should not, run in the same place.",
    },
    "NodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": "Nodes that the pod may be scheduled to. A pod that runs "
        "stays even if its node stops matching.",
        "preferredDuringSchedulingIgnoredDuringExecution": "Nodes that are better than others: the weights of all "
        "terms that match are added up.",
    },
    "NodeSelector": {"nodeSelectorTerms": "The terms, of which one must match."},
    "NodeSelectorTerm": {
        "matchExpressions": "Conditions on the node's labels.",
        "matchFields": "Conditions on the node's fields, of which metadata.name is the only one.",
    },
    "NodeSelectorRequirement": {
        "key": "The label, or the field, that the condition is about.",
        "operator": "How the label's value is compared: In, NotIn, Exists, DoesNotExist, "
        f"{_comparisons(NODE_SELECTOR)}.",
        "values": "What the label's value is compared with. At least one for In and NotIn, none for Exists and "
        "DoesNotExist, exactly one for operators that compare whole numbers or versions.",
    },
    "PreferredSchedulingTerm": {
        "preference": "The nodes that are preferred.",
        "weight": "What a match is worth, from 1 to 100.",
    },
    "PodAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": "Terms that must all hold at the time of scheduling.",
        "preferredDuringSchedulingIgnoredDuringExecution": "Terms that make a node better the more of them hold.",
    },
    "PodAffinityTerm": {
        "labelSelector": "The pods that are meant. Without a selector, none.",
        "matchLabelKeys": "Labels whose values are taken from the pod itself and added to the selector: only pods "
        "with the same values count, such as those of the same revision of a Deployment.",
        "mismatchLabelKeys": "Labels whose values are taken from the pod itself: only pods with other values count.",
        "namespaces": "Namespaces in which pods are looked for. Without any, and without a selector for them, the "
        "pod's own.",
        "namespaceSelector": "Namespaces in which pods are looked for, by their labels. An empty selector means all.",
        "topologyKey": "The node label that says what one place is: nodes with the same value are in one place.",
    },
    "WeightedPodAffinityTerm": {
        "podAffinityTerm": "The condition on neighbours.",
        "weight": "What a match is worth, from 1 to 100.",
    },
    "TopologySpreadConstraint": {
        "labelSelector": "The pods that are counted.",
        "matchLabelKeys": "Labels whose values are taken from the pod itself and added to the selector, so that each "
        "revision is spread on its own.",
        "maxSkew": "By how many pods a domain may exceed the emptiest one.",
        "minDomains": "If there are fewer domains than this, the emptiest one counts as having no pods. Only for "
        "DoNotSchedule.",
        "nodeAffinityPolicy": "Whether nodes that the pod's node affinity rules out are counted: Honor (no, the "
        "default) or Ignore (yes).",
        "nodeTaintsPolicy": "Whether nodes with taints that the pod does not tolerate are counted: Honor (no) or "
        "Ignore (yes, the default).",
        "topologyKey": "The node label whose values are the domains.",
        "whenUnsatisfiable": "What to do if the pod fits nowhere: DoNotSchedule leaves it waiting, ScheduleAnyway "
        "only prefers emptier domains.",
    },
    "PodSchedulingGate": {"name": "Name of the gate. The pod is scheduled once all gates are gone."},
    "PriorityClass": {
        "description": "For whom this class is.",
        "globalDefault": "Whether pods without a class get this one. At most one class may say so.",
        "preemptionPolicy": "Whether pods of this class may displace others: PreemptLowerPriority (the default) or "
        "Never.",
        "value": "The priority. Pods with a larger one are scheduled first and may displace those with a smaller one.",
    },
    "LabelSelector": {
        "matchLabels": "Labels that must be there with exactly these values.",
        "matchExpressions": "Conditions on labels.",
    },
    "LabelSelectorRequirement": {
        "key": "The label.",
        "operator": "In, NotIn, Exists or DoesNotExist.",
        "values": "The values for In and NotIn; none for the others.",
    },
}

_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")

VALUES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("Toleration", "operator"): tuple(sorted(names_in(TOLERATION))),
    ("Toleration", "effect"): _EFFECTS,
    ("Taint", "effect"): _EFFECTS,
    ("NodeSelectorRequirement", "operator"): tuple(sorted(names_in(NODE_SELECTOR))),
    ("TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("TopologySpreadConstraint", "nodeAffinityPolicy"): ("Honor", "Ignore"),
    ("TopologySpreadConstraint", "nodeTaintsPolicy"): ("Honor", "Ignore"),
    ("PriorityClass", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("PodSpec", "restartPolicy"): ("Always", "Never", "OnFailure"),
    ("DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("StorageClass", "volumeBindingMode"): ("Immediate", "WaitForFirstConsumer"),
}
