"""matchLabelKeys and mismatchLabelKeys: are they label keys, and do they repeat what the selector says?

In: the two lists and the selector, into which `admit.prepare.mutate` has already merged what they stand for, which is
how a key in both is found. Out: field errors. Kubernetes: ValidateMatchLabelKeysAndMismatchLabelKeys, and
ValidateMatchLabelKeysInTopologySpread for pods whose spread constraints are not merged.
"""

from collections.abc import Sequence

from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.types.meta import LabelSelector

NEEDS_A_SELECTOR = "must not be specified when labelSelector is not set"
IN_SELECTOR_TOO = "exists in both matchLabelKeys and labelSelector"
IN_BOTH_LISTS = "exists in both matchLabelKeys and mismatchLabelKeys"


def validate_label_keys(
    match_keys: Sequence[str], mismatch_keys: Sequence[str], selector: LabelSelector | None, path: str
) -> list[FieldError]:
    """Check both lists against each other and against the merged selector; `path` is that of the term."""
    if not match_keys and not mismatch_keys:
        return []
    errors = _validate_names(match_keys, selector, f"{path}.matchLabelKeys")
    errors += _validate_names(mismatch_keys, selector, f"{path}.mismatchLabelKeys")
    if selector is not None:
        errors += _validate_not_in_selector(match_keys, selector, path)
    for index, key in enumerate(match_keys):
        if key in mismatch_keys:
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, IN_BOTH_LISTS))
    return errors


def _validate_names(keys: Sequence[str], selector: LabelSelector | None, path: str) -> list[FieldError]:
    if not keys:
        return []
    if selector is None:
        return [forbidden(path, NEEDS_A_SELECTOR)]
    return [error for index, key in enumerate(keys) for error in validate_label_name(key, f"{path}[{index}]")]


def _validate_not_in_selector(match_keys: Sequence[str], selector: LabelSelector, path: str) -> list[FieldError]:
    """Find keys the merged selector names twice. The index is appended to the term's path: upstream's real, odd one."""
    errors: list[FieldError] = []
    position = {key: index for index, key in enumerate(match_keys)}
    seen = set(selector.matchLabels)
    for requirement in selector.matchExpressions:
        key = requirement.key
        if key in position and key in seen:
            errors.append(invalid(f"{path}[{position[key]}]", key, IN_SELECTOR_TOO))
        seen.add(key)
    return errors


def validate_unmerged_label_keys(
    match_keys: Sequence[str], selector: LabelSelector | None, path: str
) -> list[FieldError]:
    """Check a list that was not merged; `path` is that of the list."""
    if not match_keys:
        return []
    errors: list[FieldError] = []
    selected: set[str] = set()
    if selector is None:
        errors.append(forbidden(path, NEEDS_A_SELECTOR))
    else:
        selected.update(selector.matchLabels)
        selected.update(requirement.key for requirement in selector.matchExpressions)
    for index, key in enumerate(match_keys):
        errors += validate_label_name(key, f"{path}[{index}]")
        if key in selected:
            errors.append(invalid(f"{path}[{index}]", key, IN_SELECTOR_TOO))
    return errors
