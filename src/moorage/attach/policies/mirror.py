"""Write the admission policy that mirrors a node in the same write that changes its taints or labels.

It does to every node what `attach.mirror.mirrored` does. An asynchronous mirror would let pods land on a node whose new
taint is not mirrored yet.
Kubernetes: MutatingAdmissionPolicy; kubelets change labels through nodes/status too. Semver in CEL reads versions as
tolerations do. Differs: forged labels of the mirror are repaired in the write that forges them.
"""

from typing import Final

from moorage.admit.requester import NODES_GROUP
from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.policies.documents import mutating_policy, one_line, rule, text_list
from moorage.attach.versions import PART

NAME = "mirror.attach.moorage.dev"

NODE_RULES: Final = (rule("", ("CREATE", "UPDATE"), "nodes"), rule("", ("UPDATE",), f"nodes/{formats.STATUS}"))
#: Kubelets write the status every few seconds: only those writes count that change what is mirrored.
NODE_CONDITIONS: Final = {
    "node-or-labels-of-status": one_line(f"""
        !has(request.subResource) || request.subResource != '{formats.STATUS}' ||
        (has(object.metadata.labels) ? object.metadata.labels : {{}}) !=
          (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {{}})
    """),
}
STATE_KEYS: Final = text_list(formats.NODE_STATE_KEYS)
_TAINT_ENDING = f".{formats.TAINT_DOMAIN}"


def _taints_of(which: str) -> str:
    return f"{which}.?spec.?taints.orValue([])"


_EFFECTS = text_list(formats.EFFECT_NAMES)
#: What match labels depend on, as `mirror` compares it.
_SHOWN = one_line(f"""
    .filter(t, !(t.key in {STATE_KEYS}))
    .map(t, [string(t.key), string(t.?value.orValue('')), string(t.effect)])
""")

_VARIABLES = {
    # The API server puts the old spec back into what writes the status, after this.
    "taints": _taints_of(f"(request.?subResource.orValue('') == '{formats.STATUS}' ? oldObject : object)"),
    "stale": one_line(f"""
        oldObject == null || variables.taints{_SHOWN} != {_taints_of("oldObject")}{_SHOWN}
    """),
    # Kubelets may write labels of their node, but add no answers to questions.
    "forgeable": f"request.userInfo.?groups.orValue([]).exists(g, g == '{NODES_GROUP}')",
    "before": one_line("""
        oldObject == null ? [] : [oldObject.metadata.?labels.orValue({})]
          .map(l, l.map(k, string(k) + '=' + string(l[k])))[0]
    """),
    "labels": "object.metadata.?labels.orValue({})",
    "keys": "variables.labels.map(k, string(k))",
    "present": "variables.labels.map(k, string(k) + '=' + string(variables.labels[k]))",
    # The prefix and the ending of the labels of each taint, between which the content is named.
    "flat": one_line(f"""
        variables.taints.filter(t, t.effect in {_EFFECTS}).map(t, {{
          'p': t.key.contains('/') ? string(t.key).split('/')[0] + '.' : '',
          'd': '.' + t.effect.lowerAscii() + '{_TAINT_ENDING}/' + (t.key.contains('/') ? t.key.split('/')[1] : t.key),
          'v': string(t.?value.orValue(''))
        }}).filter(f, size((f.p + '{formats.RAW_VALUE}' + f.d).split('/')[0]) <= {formats.MAX_PREFIX})
    """),
    # Labels of nodes outside our domain: where the version of each would be.
    "versioned": one_line(f"""
        variables.keys
          .filter(k, !(k.contains('/') && ('.' + k.split('/')[0]).endsWith('.{formats.DOMAIN}')))
          .map(k, {{
            'k': (k.contains('/') ? k.split('/')[0] + '.' : '') + '{formats.LABEL_VERSION_DOMAIN}/' +
                 (k.contains('/') ? k.split('/')[1] : k),
            'v': string(variables.labels[k])
          }}).filter(f, size(f.k.split('/')[0]) <= {formats.MAX_PREFIX})
    """),
    "numbered": one_line(f"""
        (variables.flat.map(f, {{'k': f.p + '{formats.ORDERED_VERSION}' + f.d, 'v': string(f.v)}}) +
         variables.versioned)
          .filter(f, isSemver(f.v, true))
          .map(f, [semver(f.v, true)].map(s, {{'k': dyn(f.k), 'a': dyn(s.major()), 'b': dyn(s.minor()),
            'c': dyn(s.patch()), 'pre': dyn(f.v.contains('-'))}})[0])
          .filter(f, f.a >= 0 && f.a < {PART} && f.b >= 0 && f.b < {PART} && f.c >= 0 && f.c < {PART})
          .map(f, {{'k': string(f.k),
            'v': string((f.a * {PART**2} + f.b * {PART} + f.c) * 2 + (f.pre ? 0 : 1))}})
    """),
    "want": one_line(f"""
        [{{'k': '{formats.MIRRORED}', 'v': '{formats.VERSION}'}}] +
        variables.flat.map(f, {{'k': f.p + '{formats.RAW_VALUE}' + f.d, 'v': string(f.v)}}) +
        variables.flat.filter(f, f.v.matches('^(0|[1-9][0-9]{{0,18}})$') &&
            (size(f.v) < 19 || f.v <= '9223372036854775807'))
          .map(f, {{'k': f.p + '{formats.NUMBER}' + f.d, 'v': string(f.v)}}) +
        variables.numbered
    """),
    "wanted": "variables.want.map(w, w.k)",
    "mirrored": one_line(f"""
        variables.keys.filter(k, k.contains('/') && (
          k.split('/')[0].endsWith('{_TAINT_ENDING}') ||
          ('.' + k.split('/')[0]).endsWith('.{formats.LABEL_VERSION_DOMAIN}')))
    """),
}

_PATCHES = one_line(f"""
    (has(object.metadata.labels) ? [] : [JSONPatch{{op: "add", path: "/metadata/labels", value: {{}}}}]) +
    variables.want.filter(w, !((w.k + '=' + w.v) in variables.present))
      .map(w, JSONPatch{{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey(w.k), value: w.v}}) +
    (variables.mirrored.filter(k, !(k in variables.wanted)) +
     variables.keys.filter(k, k.startsWith('{formats.MATCH_DOMAIN}/') && (variables.stale ||
       (variables.forgeable && !((k + '=' + string(variables.labels[k])) in variables.before)))))
      .map(k, JSONPatch{{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey(k)}})
""")


def mirror_policy() -> list[Raw]:
    """Return the policy that mirrors nodes, and its binding."""
    return mutating_policy(NAME, NODE_RULES, NODE_CONDITIONS, _VARIABLES, _PATCHES)
