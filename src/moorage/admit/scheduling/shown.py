"""Node selector terms as Go prints them in messages: the internal types' field names, in their order.

In: views. Out: `GoStruct`s for `AsJSON`. Kubernetes: encoding/json on pkg/apis/core types, which have no JSON names.
Next: the update rules of pods and volumes, whose errors show whole terms.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from moorage.model.go_text import GoStruct
from moorage.model.scheduling import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_Item = TypeVar("_Item")


def shown_list(items: Sequence[_Item], shown: Callable[[_Item], GoStruct]) -> Sequence[object]:
    """The items as they are shown; without any, the list itself, which knows whether it is there."""
    return [shown(item) for item in items] if items else items


def shown_node_selector(selector: NodeSelector) -> GoStruct:
    return GoStruct(NodeSelectorTerms=shown_list(selector.nodeSelectorTerms, shown_node_selector_term))


def shown_node_selector_term(term: NodeSelectorTerm) -> GoStruct:
    return GoStruct(
        MatchExpressions=shown_list(term.matchExpressions, _shown_requirement),
        MatchFields=shown_list(term.matchFields, _shown_requirement),
    )


def _shown_requirement(requirement: NodeSelectorRequirement) -> GoStruct:
    return GoStruct(Key=requirement.key, Operator=requirement.operator, Values=requirement.values)
