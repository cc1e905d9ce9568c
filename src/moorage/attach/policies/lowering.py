"""Write the admission policy that lowers tolerations with Lt and Gt, for clusters that run no webhook.

It does what `attach.objects.lowered` does, or nothing: then the API server refuses the operators in its own words. It
leaves alone other operators, more than four pairs of key and effect, more than 64 terms, keys too long to mirror,
values that are not integers, texts that would have to be escaped in the annotation, and a list that has the marker and
a comparison.
Kubernetes: MutatingAdmissionPolicy of 1.36; CEL has no fold, hence the four.
"""

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.policies.documents import mutating_policy, one_line
from moorage.attach.policies.pods import NOT_A_CONTROLLERS_REPLICA_SET, POD_RULES, base_of, template_of
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

NAME = "lower.attach.moorage.dev"

_TEMPLATE = template_of("object")
_COMPARED = "x.?operator.orValue('') in ['Lt', 'Gt']"
_OF_TAINTS = one_line(f"""
    (e.key.contains('/') && (e.key.split('/')[0].endsWith('.{formats.TAINT_DOMAIN}') ||
      e.key.startsWith('{formats.MATCH_DOMAIN}/')))
""")
#: A list without the marker that was lowered once: what lowering has added is taken away.
_CONDITIONS = {
    **NOT_A_CONTROLLERS_REPLICA_SET,
    "uses-lt-or-gt-or-did": one_line(f"""
        [{_TEMPLATE}].exists(t, t.spec.?tolerations.orValue([]).exists(x, {_COMPARED}) ||
          ('{formats.TOLERATIONS}' in t.?metadata.?annotations.orValue({{}}) &&
            !t.spec.?tolerations.orValue([]).exists(x, x.?key.orValue('') == '{formats.MARKER_KEY}')))
    """),
}
_REQUIRED = "nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "nodeAffinity.?preferredDuringSchedulingIgnoredDuringExecution"
_INTEGER = "^(0|-?[1-9][0-9]{0,18})$"
_TEXT = "^[ !#-\\\\[\\\\]-~]*$"  # what JSON writes as it is


def _label(content: str) -> str:
    return f"g.p + '{content}' + g.d"


def _copied_requirements(of: str) -> str:
    """Copy requirements, field by field."""
    return one_line(f"""
        {of}.map(e, {{?'key': e.?key, ?'operator': e.?operator,
          ?'values': e.?values.optMap(l, dyn(l.map(v, string(v))))}})
    """)


#: Parts of the object become values of patches only as copies: some API servers cannot write a part itself.
_COPIED_TOLERATION = one_line("""
    {?'key': x.?key, ?'operator': x.?operator, ?'value': x.?value, ?'effect': x.?effect,
     ?'tolerationSeconds': x.?tolerationSeconds}
""")
_COPIED_PREFERENCE = one_line(f"""
    {{?'weight': n.?weight, ?'preference': n.?preference.optMap(q, dyn({{
      ?'matchExpressions': q.?matchExpressions.optMap(r, dyn({_copied_requirements("r")})),
      ?'matchFields': q.?matchFields.optMap(r, dyn({_copied_requirements("r")}))}}))}}
""")

_VARIABLES = {
    "t": _TEMPLATE,
    "base": base_of("object"),
    "given": "variables.t.spec.?tolerations.orValue([])",
    # Maps of texts, which can be compared and copied.
    "all": one_line("""
        variables.given.map(x, {
          'key': string(x.?key.orValue('')), 'operator': string(x.?operator.orValue('')),
          'value': string(x.?value.orValue('')), 'effect': string(x.?effect.orValue('')),
          'seconds': has(x.tolerationSeconds) ? string(x.tolerationSeconds) : ''})
    """),
    # The annotation NATIVE leaves comparisons to the cluster: what lowering has added is taken away.
    "native": f"variables.t.?metadata.?annotations[?'{formats.NATIVE}'].orValue('') == '{formats.TRUE}'",
    "odd": "variables.native ? [] : variables.all.filter(x, x.operator in ['Lt', 'Gt'])",
    "pairs": one_line(f"""
        variables.odd.map(x, (x.effect == '' ? ['{NO_SCHEDULE}', '{NO_EXECUTE}'] : [x.effect])
            .map(e, {{'k': x.key, 'e': e}})).flatten().distinct()
          .map(g, {{'k': g.k, 'e': g.e, 'p': g.k.contains('/') ? g.k.split('/')[0] + '.' : '',
            'd': '.' + g.e.lowerAscii() + '.{formats.TAINT_DOMAIN}/' +
              (g.k.contains('/') ? g.k.split('/')[1] : g.k)}})
    """),
    # The requirements of each pair of which one has to hold.
    "choices": one_line(f"""
        variables.pairs
          .filter(g, !variables.all.exists(x, x.operator == 'Exists' && x.key in ['', g.k] && x.effect in ['', g.e]))
          .map(g, {{'soft': dyn(g.e == '{PREFER_NO_SCHEDULE}'), 'any':
            dyn([{{'key': dyn({_label(formats.RAW_VALUE)}), 'operator': dyn('DoesNotExist')}}] +
            variables.all.filter(x, x.key == g.k && x.effect in ['', g.e] &&
                !(x.operator == 'Lt' && x.value.startsWith('-')))
              .map(x, x.operator in ['Lt', 'Gt'] && x.value.startsWith('-') ?
                {{'key': dyn({_label(formats.NUMBER)}), 'operator': dyn('Exists')}} :
                {{'key': dyn(x.operator in ['Lt', 'Gt'] ? {_label(formats.NUMBER)} : {_label(formats.RAW_VALUE)}),
                  'operator': dyn(x.operator in ['Lt', 'Gt'] ? x.operator : 'In'), 'values': dyn([x.value])}})
              .distinct())}})
    """),
    "hard": "variables.choices.filter(c, !c.soft).map(c, c.any.map(r, [r])) + [[[]], [[]], [[]], [[]]]",
    "product": one_line("""
        variables.hard[0].map(a, variables.hard[1].map(b, variables.hard[2].map(c, variables.hard[3].map(d,
          {'e': a + b + c + d})))).flatten(3)
    """),
    "own": f"variables.t.spec.?affinity.?{_REQUIRED}.?nodeSelectorTerms.orValue([])",
    # The terms of the user, without what was added before.
    "user": one_line(f"""
        variables.own.map(n, {{
            'e': dyn({_copied_requirements(f"n.?matchExpressions.orValue([]).filter(e, !{_OF_TAINTS})")}),
            'f': dyn({_copied_requirements("n.?matchFields.orValue([])")}),
            'added': dyn(n.?matchExpressions.orValue([]).exists(e, {_OF_TAINTS}))}})
          .filter(n, !n.added || size(n.e) + size(n.f) > 0)
          .map(n, {{'e': n.e, 'f': n.f}}).distinct()
    """),
    # A selector without any term is invalid, and stays so.
    "empty": f"variables.t.spec.?affinity.?{_REQUIRED}.hasValue() && size(variables.own) == 0",
    "required": "size(variables.user) > 0 || (variables.choices.exists(c, !c.soft) && !variables.empty)",
    "annotated": f"'{formats.TOLERATIONS}' in variables.t.?metadata.?annotations.orValue({{}})",
    "terms": one_line("""
        (size(variables.user) == 0 ? [{'e': dyn([]), 'f': dyn([])}] : variables.user).map(u,
          size(variables.user) > 0 && size(u.e) + size(u.f) == 0 ? [{'matchExpressions': u.e, 'matchFields': u.f}] :
          variables.product.map(p, {'matchExpressions': dyn(u.e + p.e), 'matchFields': u.f})).flatten()
    """),
    "preferred": one_line(f"""
        dyn(variables.t.spec.?affinity.?{_PREFERRED}.orValue([])
          .filter(n, !n.?preference.?matchExpressions.orValue([]).exists(e, {_OF_TAINTS}))
          .map(n, {_COPIED_PREFERENCE})) +
        dyn(variables.choices.filter(c, c.soft).map(c, c.any.map(r,
          {{'weight': dyn({formats.SOFT_WEIGHT}), 'preference': dyn({{'matchExpressions': [r]}})}})).flatten())
    """),
    "exists": one_line("""
        variables.odd.map(x, {'key': x.key, 'effect': x.effect, 'seconds':
          variables.odd.exists(y, y.key == x.key && y.effect == x.effect && y.seconds == '') ? '' :
          string(variables.odd.filter(y, y.key == x.key && y.effect == x.effect).map(y, int(y.seconds)).max())})
        .distinct().filter(x, !variables.all.exists(y, y.operator == 'Exists' && y.key == x.key &&
          y.effect == x.effect && y.seconds == x.seconds && y.value == ''))
    """),
    "annotation": one_line("""
        '[' + variables.all.map(x, '{' + (
          (x.effect != '' ? ['"effect":"' + x.effect + '"'] : []) + (x.key != '' ? ['"key":"' + x.key + '"'] : []) +
          (x.operator != '' ? ['"operator":"' + x.operator + '"'] : []) +
          (x.seconds != '' ? ['"tolerationSeconds":' + x.seconds] : []) +
          (x.value != '' ? ['"value":"' + x.value + '"'] : [])).join(',') + '}').join(',') + ']'
    """),
    "possible": one_line(f"""
        variables.all.all(x, x.operator in ['', 'Equal', 'Exists', 'Lt', 'Gt']) &&
        size(variables.choices.filter(c, !c.soft)) <= 4 &&
        (size(variables.choices.filter(c, !c.soft)) == 0 ||
          size(variables.product) * (size(variables.user) == 0 ? 1 :
            size(variables.user.filter(u, size(u.e) + size(u.f) > 0))) <= {formats.MAX_TERMS}) &&
        variables.pairs.all(g, size((g.p + '{formats.RAW_VALUE}' + g.d).split('/')[0]) <= {formats.MAX_PREFIX}) &&
        variables.odd.all(x, x.key != '' && x.value.matches('{_INTEGER}') &&
          [x.value.startsWith('-') ? x.value.substring(1) : x.value].all(v,
            size(v) < 19 || v <= '9223372036854775807')) &&
        variables.all.all(x, x.key != '{formats.MARKER_KEY}' &&
          [x.key, x.operator, x.value, x.effect].all(v, v.matches('{_TEXT}')))
    """),
}

_SPEC = 'variables.base + "/spec'
_NODE_AFFINITY = f"{_SPEC}/affinity/nodeAffinity"
_REQUIRED_PATH = f'{_NODE_AFFINITY}/requiredDuringSchedulingIgnoredDuringExecution"'
_PREFERRED_PATH = f'{_NODE_AFFINITY}/preferredDuringSchedulingIgnoredDuringExecution"'
_ANNOTATION_PATH = f'variables.base + "/metadata/annotations/" + jsonpatch.escapeKey("{formats.TOLERATIONS}")'
_HAS_NODE_AFFINITY = "variables.t.spec.?affinity.?nodeAffinity.hasValue()"

_TOLERATION_PATCHES = one_line(f"""
    size(variables.odd) == 0 ? [] : [JSONPatch{{op: "add", path: {_SPEC}/tolerations", value:
      dyn(variables.given.filter(x, !({_COMPARED})).map(x, {_COPIED_TOLERATION})) +
      dyn(variables.exists.map(x, x.seconds == '' ?
        {{'key': dyn(x.key), 'operator': dyn('Exists'), 'effect': dyn(x.effect)}} :
        {{'key': dyn(x.key), 'operator': dyn('Exists'), 'effect': dyn(x.effect),
          'tolerationSeconds': dyn(int(x.seconds))}})) +
      dyn([{{'key': '{formats.MARKER_KEY}', 'operator': 'Exists', 'effect': '{PREFER_NO_SCHEDULE}'}}])}}]
""")
#: What is left empty is removed, as it was not there before; what has never been lowered is left as it is.
_EMPTY_PATCHES = one_line(f"""
    !{_HAS_NODE_AFFINITY} || !variables.annotated ? [] :
    [JSONPatch{{op: "remove", path: has(variables.t.spec.affinity.podAffinity) ||
      has(variables.t.spec.affinity.podAntiAffinity) ? {_NODE_AFFINITY}" : {_SPEC}/affinity"}}]
""")
_AFFINITY_PATCHES = one_line(f"""
    (variables.t.spec.?affinity.hasValue() ? [] : [JSONPatch{{op: "add", path: {_SPEC}/affinity", value: {{}}}}]) +
    ({_HAS_NODE_AFFINITY} ? [] : [JSONPatch{{op: "add", path: {_NODE_AFFINITY}", value: {{}}}}]) +
    (variables.required ?
      [JSONPatch{{op: "add", path: {_REQUIRED_PATH}, value: {{'nodeSelectorTerms': variables.terms}}}}] :
      size(variables.own) > 0 ? [JSONPatch{{op: "remove", path: {_REQUIRED_PATH}}}] : []) +
    (size(variables.preferred) > 0 ? [JSONPatch{{op: "add", path: {_PREFERRED_PATH}, value: variables.preferred}}] :
      variables.t.spec.?affinity.?{_PREFERRED}.hasValue() ?
      [JSONPatch{{op: "remove", path: {_PREFERRED_PATH}}}] : [])
""")
_ANNOTATION_PATCHES = one_line(f"""
    size(variables.odd) == 0 ?
      (variables.annotated ? [JSONPatch{{op: "remove", path: {_ANNOTATION_PATH}}}] : []) :
    (variables.t.?metadata.hasValue() ? [] :
      [JSONPatch{{op: "add", path: variables.base + "/metadata", value: {{}}}}]) +
    (variables.t.?metadata.?annotations.hasValue() ? [] :
      [JSONPatch{{op: "add", path: variables.base + "/metadata/annotations", value: {{}}}}]) +
    [JSONPatch{{op: "add", path: {_ANNOTATION_PATH}, value: variables.annotation}}]
""")
_PATCHES = one_line(f"""
    !variables.possible ? [] : ({_TOLERATION_PATCHES}) + ({_ANNOTATION_PATCHES}) +
    (!variables.required && !variables.empty && size(variables.preferred) == 0 ? ({_EMPTY_PATCHES}) :
      ({_AFFINITY_PATCHES}))
""")


#: The condition of a policy that lowers only what is lowered already. All others the API server refuses.
LOWERED_BEFORE = "lowered-before"
_LOWERED_BEFORE = one_line(f"""
    request.operation == 'UPDATE' && [{template_of("oldObject")}].exists(t,
      '{formats.TOLERATIONS}' in t.?metadata.?annotations.orValue({{}}))
""")


def lowering_policy(*, refuses_new: bool = False) -> list[Raw]:
    """Return the policy that lowers Lt and Gt, and its binding."""
    conditions = {LOWERED_BEFORE: _LOWERED_BEFORE, **_CONDITIONS} if refuses_new else _CONDITIONS
    return mutating_policy(NAME, POD_RULES, conditions, _VARIABLES, _PATCHES)
