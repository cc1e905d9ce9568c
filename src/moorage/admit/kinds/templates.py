"""Selector and template of a workload: they must belong together, and the pods must restart.

In: the selector and the template of a spec, and their paths. Out: field errors. Kubernetes:
ValidatePodTemplateSpecForReplicaSet and its siblings.
"""

from moorage.admit.kinds.fields import shown_label_selector
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.scheduling.label_selectors import validate_label_selector
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import PodTemplateSpec

NOT_SELECTED = "`selector` does not match template `labels`"


def compile_selector(selector: LabelSelector | None) -> Selector | None:
    """The selector as a matcher, or None if it cannot be one."""
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return None


def validate_required_selector(selector: LabelSelector | None, path: str, kind: str) -> list[FieldError]:
    """A selector must be there and must select something less than everything."""
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path, STRICT)
    return errors + validate_selector_not_empty(selector, path, kind)


def validate_selector_not_empty(selector: LabelSelector | None, path: str, kind: str) -> list[FieldError]:
    if selector is None or selector.matchLabels or selector.matchExpressions:
        return []
    return [invalid(path, AsJSON(shown_label_selector(selector)), f"empty selector is invalid for {kind}")]


def validate_selected(selector: Selector, template: PodTemplateSpec, path: str) -> list[FieldError]:
    labels = template.metadata.labels
    if selector.match(labels):
        return []
    return [invalid(f"{path}.metadata.labels", AsJSON(labels), NOT_SELECTED)]


def validate_always_restarts(template: PodTemplateSpec, path: str, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if template.spec.restartPolicy != "Always":
        shown = AsJSON(template.spec.restartPolicy)
        errors.append(not_supported(f"{path}.spec.restartPolicy", shown, ["Always"]))
    if template.spec.activeDeadlineSeconds is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.spec.activeDeadlineSeconds", detail))
    return errors


def options_for_selector(options: ValidationOptions) -> ValidationOptions:
    """The options a selector outside the template is judged with: a mistake in the old template excuses it, too."""
    return options if options.allow_invalid_label_value_in_selector else STRICT
