"""Name the resources with pods, and where each has its pod or pod template, in CEL.

Policies and webhook configurations use it; `has` is known to every Kubernetes that has match conditions.
Kubernetes: the nine kinds that have a pod template or are a pod.
"""

from typing import Final

from moorage.attach.policies.documents import one_line, rule

_OPERATIONS = ("CREATE", "UPDATE")
POD_RULES: Final = (
    rule("", _OPERATIONS, "pods", "podtemplates", "replicationcontrollers"),
    rule("apps", _OPERATIONS, "deployments", "replicasets", "statefulsets", "daemonsets"),
    rule("batch", _OPERATIONS, "jobs", "cronjobs"),
)
#: A Deployment does not find its ReplicaSet again if the template is changed, and makes another one, and another.
NOT_A_CONTROLLERS_REPLICA_SET: Final = {
    "not-a-controllers-replicaset": one_line("""
        !(request.kind.kind == 'ReplicaSet' && has(object.metadata.ownerReferences) &&
          object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller))
    """),
}


def template_of(which: str) -> str:
    """Return the expression for the pod or template of `object` or `oldObject`."""
    return one_line(f"""
        has({which}.template) ? {which}.template :
        has({which}.spec.jobTemplate) ? {which}.spec.jobTemplate.spec.template :
        has({which}.spec.template) ? {which}.spec.template : {which}
    """)


def base_of(which: str) -> str:
    """Return the expression for the path of the same in a JSON patch; empty for a pod."""
    return one_line(f"""
        has({which}.template) ? '/template' : has({which}.spec.jobTemplate) ? '/spec/jobTemplate/spec/template' :
        has({which}.spec.template) ? '/spec/template' : ''
    """)
