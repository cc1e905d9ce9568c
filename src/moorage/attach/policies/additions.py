"""Write an admission policy that adds matchLabelKeys or tolerations to the pods of some namespaces or workloads.

It changes pods when they are created, and no template, so that no rollout follows. Keys are added to topology spread
constraints and to terms of pod affinity that are about pods like the pod itself, if it has the label and the key is not
used there already; everything else is left alone. `kube-system`, and what is exempt from attach, is not changed.
API servers ask webhooks after policies, and policies in any order: a comparison that is added is lowered by the webhook
only, and not by the policy that lowers.
Kubernetes: KEP-3633, story 2, in which an administrator does this for everyone by a webhook.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.policies.documents import mutating_policy, one_line, rule

_RULES: Final = (rule("", ("CREATE",), "pods"),)
_NOT_EXEMPT: Final = f"metadata.?labels[?'{formats.EXEMPT}'].orValue('') != '{formats.TRUE}'"
_CONDITIONS: Final = {"not-exempt": f"request.namespace != 'kube-system' && object.{_NOT_EXEMPT}"}
_COMPARING: Final = ("Lt", "Gt", "SemverLt", "SemverGt", "SemverEq", formats.CEL)
#: Each list of terms, and where in each of its items the term is.
_LISTS: Final = (
    ("affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ""),
    ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ""),
    ("affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
    ("affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
)


class Addition(NamedTuple):
    """What is added to pods, in namespaces and to pods with certain labels. Selectors are as in a manifest.

    Every value that the chart has as a value may be a text that stands for it.
    """

    name: str
    namespaces: Any = None
    pods: Any = None
    match_label_keys: Any = ()
    tolerations: Any = ()


def addition_policy(addition: Addition) -> list[Raw]:
    """Return the policy and its binding."""
    keys = addition.match_label_keys
    variables = {
        "wanted": keys if isinstance(keys, str) else literal_of_keys(keys),
        "labels": "object.metadata.?labels.orValue({})",
        "keys": "variables.wanted.filter(k, string(k) in variables.labels).map(k, string(k))",
        "tolerations": addition.tolerations
        if isinstance(addition.tolerations, str)
        else literal_of_tolerations(addition.tolerations),
        "given": "object.spec.?tolerations.orValue([])",
        # Of a pod whose template is lowered: what it compares.
        "lowered": f"string(object.metadata.?annotations[?'{formats.TOLERATIONS}'].orValue(''))",
        "added": one_line("""
            variables.tolerations.filter(t, !variables.given.exists(x,
              x.?key.orValue('') == t.?key.orValue('') && x.?effect.orValue('') == t.?effect.orValue('') &&
              x.?operator.orValue('Equal') == t.?operator.orValue('Equal') &&
              x.?value.orValue('') == t.?value.orValue('') &&
              x.?tolerationSeconds.orValue(-1) == t.?tolerationSeconds.orValue(-1)) &&
              !variables.lowered.contains('{' +
                (t.?effect.orValue('') == '' ? '' : '"effect":"' + string(t.effect) + '",') +
                '"key":"' + string(t.?key.orValue('')) + '","operator":"' + string(t.?operator.orValue('')) + '",' +
                (has(t.tolerationSeconds) ? '"tolerationSeconds":' + string(t.tolerationSeconds) + ',' : '') +
                '"value":"' + string(t.?value.orValue('')) + '"}'))
        """),
    }
    documents = mutating_policy(policy_name(addition.name), _RULES, _CONDITIONS, variables, _PATCHES)
    # A second time it would find its comparisons lowered, and add them again.
    documents[0]["spec"]["reinvocationPolicy"] = "Never"
    constraints: Raw = documents[0]["spec"]["matchConstraints"]
    for field, selector in (("namespaceSelector", addition.namespaces), ("objectSelector", addition.pods)):
        if selector:
            constraints[field] = selector
    return documents


def policy_name(name: str) -> str:
    return f"{name}.add.{formats.ANNOTATION_DOMAIN}"


def is_addition(policy: str) -> bool:
    """Whether a policy has the name of one that adds something."""
    return policy.endswith(f".add.{formats.ANNOTATION_DOMAIN}")


def adds_comparisons(policy: Raw) -> bool:
    """Whether a policy adds tolerations that have to be lowered."""
    variables = (policy.get("spec") or {}).get("variables") or []
    texts = (str(each.get("expression")) for each in variables if each.get("name") == "tolerations")
    return any(f'"operator": dyn("{operator}")' in text for text in texts for operator in _COMPARING)


def literal_of_keys(keys: Sequence[str]) -> str:
    """Return keys as a list of CEL. Texts of JSON are texts of CEL."""
    return _text(list(keys))


def literal_of_tolerations(tolerations: Sequence[Mapping[str, Any]]) -> str:
    """Return tolerations as a list of maps of CEL, with values of any type."""
    maps = (", ".join(f"{_text(name)}: dyn({_text(each[name])})" for name in sorted(each)) for each in tolerations)
    return "[" + ", ".join(f"{{{fields}}}" for fields in maps) + "]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _selects(term: str) -> str:
    """Whether a term is about pods with the labels of this pod."""
    return one_line(f"""
        has({term}.labelSelector) &&
        {term}.labelSelector.?matchLabels.orValue({{}}).all(k, string(k) in variables.labels &&
          variables.labels[string(k)] == {term}.labelSelector.matchLabels[k]) &&
        {term}.labelSelector.?matchExpressions.orValue([]).all(e,
          e.operator == 'Exists' ? e.key in variables.labels :
          e.operator == 'DoesNotExist' ? !(e.key in variables.labels) :
          e.operator == 'In' ? e.key in variables.labels && variables.labels[e.key] in e.values :
          !(e.key in variables.labels) || !(variables.labels[e.key] in e.values))
    """)


def _missing(term: str) -> str:
    """Return the keys that a term does not use yet."""
    return one_line(f"""
        variables.keys.filter(k, !(k in {term}.?matchLabelKeys.orValue([])) &&
          !(k in {term}.?mismatchLabelKeys.orValue([])) &&
          !(k in {term}.labelSelector.?matchLabels.orValue({{}})) &&
          !{term}.labelSelector.?matchExpressions.orValue([]).exists(e, e.key == k))
    """)


def _key_patches(items: str, path: str, inner: str) -> str:
    """Return patches that add keys to the terms of a list. `inner` is the field of an item that has the term."""
    term = f"t.{inner}" if inner else "t"
    below = f"/{inner}" if inner else ""
    return one_line(f"""
        {items}.transformList(i, t, {_selects(term)} && size({_missing(term)}) > 0,
          JSONPatch{{op: "add", path: "{path}/" + string(i) + "{below}/matchLabelKeys",
            value: {term}.?matchLabelKeys.orValue([]).map(k, string(k)) + ({_missing(term)})}})
    """)


def _all_patches() -> str:
    patches = [
        _key_patches(f"object.spec.?{first}.?{second}.?{third}.orValue([])", f"/spec/{first}/{second}/{third}", inner)
        for first, second, third, inner in _LISTS
    ]
    spread = "object.spec.?topologySpreadConstraints.orValue([])"
    patches.append(_key_patches(spread, "/spec/topologySpreadConstraints", ""))
    patches.append(
        one_line("""
        size(variables.added) == 0 ? [] : !has(object.spec.tolerations) ?
          [JSONPatch{op: "add", path: "/spec/tolerations", value: variables.added}] :
          variables.added.map(t, JSONPatch{op: "add", path: "/spec/tolerations/-", value: t})
    """)
    )
    # Match conditions do not know the namespace.
    return f"namespaceObject.{_NOT_EXEMPT} ? {' + '.join(f'({each})' for each in patches)} : []"


_PATCHES: Final = _all_patches()
