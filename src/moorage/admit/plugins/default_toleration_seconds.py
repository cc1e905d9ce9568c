"""DefaultTolerationSeconds: every pod tolerates an unready or unreachable node for five minutes.

In: a raw pod. Out: the pod with up to two tolerations more. Kubernetes:
plugin/pkg/admission/defaulttolerationseconds. Differs: a toleration by CEL expression has neither key nor effect and
yet does not tolerate everything, so it does not keep the defaults away.
"""

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, items, part

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
DEFAULT_SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations that are missing. Runs on create and on update, as upstream's does."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "Pod":
            return
        tolerations = list(items(part(new, "spec"), "tolerations"))
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_SECONDS}
            for key in (NOT_READY, UNREACHABLE)
            if not any(_speaks_of(toleration, key) for toleration in tolerations)
        ]
        if added:
            new["spec"]["tolerations"] = tolerations + added


def _speaks_of(toleration: Raw, key: str) -> bool:
    if toleration.get("expression"):
        return False
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"
