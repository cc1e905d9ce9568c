"""Node selector terms as Go prints them in messages: the internal types' field names, in their order.

In: views. Out: `GoStruct`s for `AsJSON`. Kubernetes: encoding/json on pkg/apis/core types, which have no JSON names.
Next: the update rules of pods and volumes, whose errors show whole terms.
"""

from moorage.model.go_text import GoStruct
from moorage.model.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm


def shown_node_selector(selector: NodeSelector) -> GoStruct:
    return GoStruct(NodeSelectorTerms=[shown_node_selector_term(term) for term in selector.nodeSelectorTerms] or None)


def shown_node_selector_term(term: NodeSelectorTerm) -> GoStruct:
    return GoStruct(
        MatchExpressions=[_shown_requirement(requirement) for requirement in term.matchExpressions] or None,
        MatchFields=[_shown_requirement(requirement) for requirement in term.matchFields] or None,
    )


def _shown_requirement(requirement: NodeSelectorRequirement) -> GoStruct:
    return GoStruct(Key=requirement.key, Operator=requirement.operator, Values=list(requirement.values) or None)
