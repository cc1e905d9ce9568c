"""Say why a policy or a binding leaves a request alone: what its rules name, an exclusion, or a selector.

Differs: Kubernetes does not say.
"""

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.matcher import Constraints, compiled_resources, match_resources, match_rules
from moorage.admit.extension.matching.selectors import (
    matches_namespace,
    matches_object,
    namespace_labels,
    object_labels,
)
from moorage.admit.extension.world import ExtensionWorld
from moorage.match.label_selector import Selector
from moorage.model.types.extension.admission_policies import MatchResources

_MOST_RULES = 5


def why_unmatched(constraints: MatchResources, attributes: Attributes, world: ExtensionWorld, field: str) -> str | None:
    """Return why matchConstraints or matchResources, which are this field, do not match a request; None if they do.

    Raises ApiError where `match_resources` does.
    """
    if match_resources(constraints, attributes, world) is not None:
        return None
    compiled = compiled_resources(constraints)
    if compiled.rules and match_rules(compiled.rules, compiled.is_equivalent, attributes, world) is None:
        return _unmatched_rules(compiled, attributes, field)
    for index, rule in enumerate(compiled.exclusions):
        if match_rules((rule,), compiled.is_equivalent, attributes, world) is not None:
            return f"{field}.excludeResourceRules[{index}] leaves it out"
    return _unselected(compiled, attributes, world, field)


def _unmatched_rules(compiled: Constraints, attributes: Attributes, field: str) -> str:
    resource = attributes.resource
    objections = [
        f"{field}.resourceRules[{index}] has {rule.objection(attributes, resource)}"
        for index, rule in enumerate(compiled.rules[:_MOST_RULES])
    ]
    more = len(compiled.rules) - len(objections)
    return "; ".join([*objections, *([f"{more} more rules do not match either"] if more else [])])


def _unselected(compiled: Constraints, attributes: Attributes, world: ExtensionWorld, field: str) -> str:
    """Return which selector leaves a request out that the rules match. Texts of wrong selectors raise before this."""
    selector = compiled.namespaces
    if isinstance(selector, Selector) and not matches_namespace(selector, attributes, world):
        return f"{field}.namespaceSelector: {selector.explain(namespace_labels(attributes, world))}"
    selector = compiled.objects
    if isinstance(selector, Selector) and not matches_object(selector, attributes):
        document = attributes.old if attributes.object is None else attributes.object
        reason = selector.explain(object_labels(document)) or f"a {attributes.kind.kind} has no labels"
        return f"{field}.objectSelector: {reason}"
    return f"{field} does not select it"
