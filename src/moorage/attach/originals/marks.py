"""Mark what was read back: it compares whatever the gates of the cluster say, as what it was lowered to does.

Kubernetes: has no such mark. API servers drop it as they drop every field that they do not know, so that nothing that a
user writes has it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from moorage.attach.formats import CEL, Raw
from moorage.attach.pods import compares
from moorage.attach.refusals import is_version_comparison
from moorage.attach.tolerations import is_comparing, without_empty
from moorage.model.types.view import ATTACHED

MARK: Final = "true"


def marked_toleration(toleration: Raw) -> Raw:
    """Return a comparing toleration so that it compares whatever the gates say."""
    if not is_comparing(toleration):
        return toleration
    marked = {**toleration, ATTACHED: MARK}
    if marked.get("operator") == CEL:
        marked["expression"] = marked.pop("value", "")
    return marked


def marked_affinity(affinity: Raw) -> Raw:
    """Return node affinity whose version comparisons compare whatever the gates say."""
    return _with_requirements(affinity, lambda each: {**each, ATTACHED: MARK} if is_version_comparison(each) else each)


def compares_unmarked(pod: Raw) -> bool:
    """Whether a pod or template of any value compares what Kubernetes does not know, and is not marked."""
    return compares(_without_marked(pod))


def _without_marked(value: Any) -> Any:
    """Return a pod without what is marked."""
    if not isinstance(value, dict) or not isinstance(value.get("spec"), dict):
        return value
    spec = value["spec"]
    parts = {name: _dropped(spec[name]) for name in ("tolerations", "affinity") if name in spec}
    return {**value, "spec": parts}


def _dropped(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _dropped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_dropped(each) for each in value if not (isinstance(each, dict) and ATTACHED in each)]
    return value


def as_written(toleration: Raw) -> Raw:
    """Return a toleration as its user writes it: without the mark, an expression as the value of operator CEL."""
    written = {name: value for name, value in without_empty(toleration).items() if name != ATTACHED}
    if written.get("operator") == CEL and "expression" in written:
        written["value"] = written.pop("expression")
    return written


def without_marks(value: Any) -> Any:
    """Return any value without the marks in it, with expressions as their users write them."""
    if isinstance(value, dict):
        plain = as_written(value) if ATTACHED in value else value
        return {name: without_marks(each) for name, each in plain.items()}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def _with_requirements(affinity: Raw, change: Callable[[Raw], Raw]) -> Raw:
    """Return node affinity with each requirement on a label changed."""

    def term(given: Raw) -> Raw:
        if not given.get("matchExpressions"):
            return given
        return {**given, "matchExpressions": [change(each) for each in given["matchExpressions"]]}

    changed = dict(affinity)
    for name, value in affinity.items():
        if isinstance(value, dict) and value.get("nodeSelectorTerms"):
            changed[name] = {**value, "nodeSelectorTerms": [term(each) for each in value["nodeSelectorTerms"]]}
        elif isinstance(value, list):
            changed[name] = [{**each, "preference": term(each.get("preference") or {})} for each in value]
    return changed


def without_forged_marks(pod: Raw) -> Raw:
    """Return a pod without marks, which only reading back may set; the very same if it has none."""
    spec = pod.get("spec")
    parts = [spec.get("tolerations"), spec.get("affinity")] if isinstance(spec, dict) else []
    return pod if not any(map(_has_mark, parts)) else {**pod, "spec": _unmarked(spec)}


def _has_mark(value: Any) -> bool:
    if isinstance(value, dict):
        if ATTACHED in value:
            return True
        inner: Iterable[Any] = value.values()
    elif isinstance(value, list):
        inner = value
    else:
        return False
    # Most of a document is text: a call for each would take longer than all the rest.
    return any(isinstance(each, dict | list) and _has_mark(each) for each in inner)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != ATTACHED}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value
