"""validate_resource_claim.json and its like: what the API server says of new objects of resource.k8s.io, and stores.

Vectors were recorded with these namespaces: default, admin-ns and almost-admin. Alpha gates are those of devices: in
Kubernetes device tolerations know no comparing operators, whatever the gates of node tolerations are.
"""

from typing import Any

from moorage.admit.admission import Admitted, admit
from moorage.admit.request import Request
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, GATES, GateSet, Stage, default_gates
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.schema.older_versions import in_current_version

Raw = dict[str, Any]

_NOW = "2026-01-02T03:04:05Z"
_ADMIN = "resource.kubernetes.io/admin-access"
_NAMESPACES: dict[str, dict[str, str]] = {"default": {}, "admin-ns": {_ADMIN: "true"}, "almost-admin": {_ADMIN: "True"}}
_ALPHA = {gate.name for gate in GATES if gate.stage is Stage.ALPHA and gate.name.startswith("DRA")}
GATE_SETS = {
    "default": default_gates(),
    "allAlpha": GateSet(default_gates().names | _ALPHA | {DRA_DEVICE_TAINT_RULES.name}),
}


def check_object(case: Raw) -> str | None:
    given, want = case["in"], case["out"]
    request = Request(timestamp=_NOW, allow_privileged=False, namespace_labels=_NAMESPACES.get)
    answer = admit(in_current_version(given["object"]), None, GATE_SETS[given["gates"]], plugins=(), request=request)
    if "decodeError" in want:
        got = "admitted" if isinstance(answer, Admitted) else answer.status["message"]
        return None if want["decodeError"] in got else f"got {got}, want {want}"
    warnings = want.get("warnings", [])
    if list(answer.warnings) != warnings:
        return f"warnings: got {list(answer.warnings)}, want {warnings}"
    if isinstance(answer, Admitted):
        if want["errors"]:
            return f"admitted, want {want['errors']}"
        return _spec_difference(answer.object, want.get("spec"))
    errors, causes, message = [str(error) for error in answer.errors], answer.status["details"]["causes"], ""
    if want.get("unordered"):
        same = sorted(errors) == sorted(want["errors"]) and _sorted(causes) == _sorted(want.get("causes", causes))
    else:
        message = answer.status["message"]
        same = errors == want["errors"] and _same(causes, want.get("causes")) and _same(message, want.get("message"))
    return None if same else f"got {errors}, {message!r}, want {want}"


check_validate_resource_claim = check_validate_resource_claim_template = check_validate_resource_slice = check_object
check_validate_device_class = check_validate_device_taint_rule = check_object


def _same(got: object, want: object) -> bool:
    return want is None or got == want


def _sorted(causes: list[Raw]) -> list[tuple[Any, ...]]:
    return sorted(tuple(sorted(cause.items())) for cause in causes)


def _spec_difference(got: Raw, want: Raw | None) -> str | None:
    """Compare typed views, in which what is absent and what is empty are the same, as in the recorded JSON."""
    if want is None:
        return None
    kind = KINDS[got["apiVersion"], got["kind"]]
    spec, wanted = (
        convert_view({"spec": one}, kind.view).spec  # type: ignore[attr-defined]
        for one in (_unstamped(got["spec"], "<now>", _NOW), _unstamped(want, "<now>", _NOW))
    )
    return None if spec == wanted else f"spec: got {got['spec']}, want {want}"


def _unstamped(value: Any, shown: str, now: str) -> Any:
    """Return the value with the time of the recording replaced."""
    if isinstance(value, dict):
        return {name: _unstamped(one, shown, now) for name, one in value.items()}
    if isinstance(value, list):
        return [_unstamped(one, shown, now) for one in value]
    return now if value == shown else value
