"""Label selectors, structured form: LabelSelector → a matcher over label sets.

In: a view's `labelSelector` (None is Go's nil). Out: a `Selector`: None matches nothing, an empty one everything.
Kubernetes: metav1.LabelSelectorAsSelector. Differs: matchLabels are checked in document order (Go: in random order).
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.match.operators import BY_NAME, LABEL_SELECTOR, use_of
from moorage.match.requirement import (
    EQUALS,
    Labels,
    Requirement,
    SelectorError,
    compile_requirement,
    trusted_requirement,
)
from moorage.model.go.quoting import go_quote
from moorage.model.types.meta import LabelSelector
from moorage.model.types.view import ABSENT_LIST


class Selector(msgspec.Struct, frozen=True):
    """A conjunction of requirements, sorted by key; without any it matches every label set, unless `nothing`."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        """Return whether it restricts nothing: Kubernetes' `Selector.Empty()`."""
        return not self.requirements and not self.nothing

    def match(self, labels: Labels) -> bool:
        for requirement in self.requirements:
            if not requirement.match(labels):
                return False
        return not self.nothing

    def explain(self, labels: Labels) -> str | None:
        """Return the first requirement that does not hold, in a sentence; None exactly when `match` is true."""
        if self.nothing:
            return NOTHING_REASON
        for requirement in self.requirements:
            if reason := requirement.explain(labels):
                return reason
        return None

    def __str__(self) -> str:
        """The canonical string form, which `selector_text.parse_selector` reads back."""
        return ",".join(map(str, self.requirements))


NOTHING_REASON = "a selector that is not set matches nothing"
NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def conjunction(requirements: Iterable[Requirement]) -> Selector:
    """Return all of them, in the canonical order."""
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile, or raise `SelectorError` with the first complaint, as Kubernetes words it."""
    if selector is None:
        return NOTHING
    if not selector.matchLabels and not selector.matchExpressions:
        return EVERYTHING
    requirements = [compile_requirement(key, EQUALS, (value,)) for key, value in selector.matchLabels.items()]
    for expression in selector.matchExpressions:
        if use_of(expression.operator, LABEL_SELECTOR) is None:
            raise SelectorError(f"{go_quote(expression.operator)} is not a valid label selector operator")
        # Kubernetes copies the values, and a copy of an empty list is none.
        selection = BY_NAME[expression.operator].selection
        requirements.append(compile_requirement(expression.key, selection, expression.values or ABSENT_LIST))
    return conjunction(requirements)


def compile_label_set(labels: Mapping[str, str]) -> Selector:
    """The selector of a plain map, such as a pod's `nodeSelector`: every entry must be there. Nothing is checked."""
    return conjunction(trusted_requirement(key, EQUALS, (value,)) for key, value in labels.items())
