"""Write an installation as a Helm chart or as a Kustomize base: files by their paths, from the same parts.

Objects of the chart are written with marks in the places of its values; a mark becomes the value's template, and the
condition of an object an `if` around it. Nothing else is templated.
Kubernetes: Helm 3 and later; `kustomization.yaml`. Differs: the namespace is the release's, which Helm creates.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from moorage.attach.policies.additions import Addition
from moorage.attached.install.parts import Condition, Part, manifests, parts
from moorage.attached.install.settings import OLDEST_MINOR, POLICY_MINOR, REFUSE, Installation, Workload
from moorage.model.text.yaml_writer import write_yaml

Raw = dict[str, Any]

_NAME: Final = "moorage-attach"
_MARK: Final = re.compile(r"""^(?P<head> *(?:- )?(?:[\w./-]+: )?)(?P<quote>["']?)@@(?P<path>[\w.]+)@@(?P=quote)$""")
_INLINE: Final = re.compile(r"@@(?P<path>[\w.]+)@@")
_NAMESPACE: Final = "@@namespace@@"
_IS_NEW: Final = f'semverCompare ">=1.{POLICY_MINOR}-0" .Capabilities.KubeVersion.Version'
_IF: Final = {
    Condition.ALWAYS: "",
    Condition.MIRROR_POLICY: f"({_IS_NEW})",
    Condition.MIRROR_WEBHOOK: f"(not ({_IS_NEW}))",
    Condition.POLICIES_ONLY: ".Values.policiesOnly",
    Condition.ACCEPTS_NEW: f'(ne .Values.newComparisons "{REFUSE}")',
    Condition.REFUSES_NEW: f'(eq .Values.newComparisons "{REFUSE}")',
    Condition.WEBHOOK: "(not .Values.policiesOnly)",
    Condition.OWN_CERTIFICATES: "(not .Values.policiesOnly) (not .Values.certManager)",
    Condition.CERT_MANAGER: "(not .Values.policiesOnly) .Values.certManager",
}
#: Values that are maps and lists, which are written as YAML.
_STRUCTURED: Final = frozenset(
    {"imagePullSecrets", "nodeSelector", "tolerations", "webhook.resources", "controller.resources"}
)


def kustomization(installation: Installation) -> dict[str, str]:
    """Return the files of a Kustomize base."""
    files: dict[str, list[Raw]] = {}
    held = [part for part in parts(installation) if part.holds(installation)]
    for part in held:
        files.setdefault(f"{part.file}.yaml", []).append(part.document)
    listed = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
    }
    streams = {name: "---\n".join(write_yaml(each) for each in documents) for name, documents in files.items()}
    return {"kustomization.yaml": write_yaml(listed), **streams}


def stream(installation: Installation) -> str:
    """Return the manifests as one stream."""
    return "---\n".join(write_yaml(each) for each in manifests(installation))


def chart(installation: Installation) -> dict[str, str]:
    """Return the files of a chart, whose default values are those of an installation."""
    marked = Installation(
        image="@@image@@",
        namespace=_NAMESPACE,
        evict_by="@@evictBy@@",
        native="@@native@@",
        new_comparisons="@@newComparisons@@",
        pull_policy="@@imagePullPolicy@@",
        pull_secrets="@@imagePullSecrets@@",
        priority_class="@@priorityClassName@@",
        node_selector="@@nodeSelector@@",
        tolerations="@@tolerations@@",
        webhook=Workload("@@webhook.replicas@@", "@@webhook.resources@@"),
        controller=Workload("@@controller.replicas@@", "@@controller.resources@@"),
        release=installation.release,
    )
    files: dict[str, list[str]] = {}
    for part in parts(marked):
        if Condition.NAMESPACE not in part.conditions:
            files.setdefault(f"templates/{part.file}.yaml", []).append(_templated(part))
    return {
        "Chart.yaml": write_yaml(_about(installation)),
        "values.yaml": _values(installation),
        "templates/check.yaml": _CHECK,
        "templates/NOTES.txt": _NOTES,
        "templates/_helpers.tpl": _HELPERS,
        "templates/additions.yaml": _additions(installation),
        **{name: "---\n".join(texts) for name, texts in files.items()},
    }


_CHECK: Final = f"""\
{{{{- if and .Values.policiesOnly (not ({_IS_NEW})) }}}}
{{{{- fail "policiesOnly needs Kubernetes 1.{POLICY_MINOR}, which has MutatingAdmissionPolicy" }}}}
{{{{- end }}}}
"""
_NOTES: Final = """\
Check the installation:

  moorage attach status --namespace {{ .Release.Namespace }}

Before you uninstall it, read what `moorage attach uninstall` says: pods that are lowered rely on it.
"""


#: Tolerations as a list of maps of CEL, as `literal_of_tolerations` writes them.
_HELPERS: Final = """\
{{- define "moorage-attach.tolerations" -}}
[
{{- range $index, $toleration := . }}{{ if $index }}, {{ end }}{
{{- $comma := "" }}
{{- range $name, $value := $toleration }}{{ $comma }}{{ toRawJson $name }}: dyn({{ toRawJson $value }})
{{- $comma = ", " }}{{ end }}}
{{- end }}]
{{- end }}
"""
_ADDED_FIELDS: Final = {
    "name": '{{ required "additions: each needs a name" .name }}',
    "keys": "{{ toRawJson (default list .matchLabelKeys) | quote }}",
    "tolerations": '{{ include "moorage-attach.tolerations" (default list .tolerations) | quote }}',
}


def _additions(installation: Installation) -> str:
    """Return the template of the policies that add something to pods, one for each of the value `additions`."""
    marked = Addition("@@name@@", "@@namespaceSelector@@", "@@podSelector@@", "@@keys@@", "@@tolerations@@")
    alone = Installation("", additions=(marked,), release=installation.release)
    added = [part.document for part in parts(alone) if part.file == "additions"]
    text = "".join(f"---\n{write_yaml(document)}" for document in added)
    lines = [line for given in text.rstrip("\n").split("\n") for line in _added_line(given)]
    checks = (
        f"{{{{- if not ({_IS_NEW.replace('.Capabilities', '$.Capabilities')}) }}}}\n"
        f'{{{{- fail "additions need Kubernetes 1.{POLICY_MINOR}, which has MutatingAdmissionPolicy" }}}}\n'
        "{{- end }}\n"
        "{{- if not (or .namespaceSelector .podSelector) }}\n"
        '{{- fail "additions: each needs a namespaceSelector or a podSelector" }}\n'
        "{{- end }}\n"
        "{{- range .tolerations }}\n"
        '{{- if and $.Values.policiesOnly (has .operator (list "Lt" "Gt" "CEL")) }}\n'
        '{{- fail "additions: tolerations that compare need the webhook: policies run in any order" }}\n'
        "{{- end }}\n"
        "{{- end }}\n"
    )
    return "{{- range .Values.additions }}\n" + checks + "\n".join(lines) + "\n{{- end }}\n"


def _added_line(line: str) -> Iterator[str]:
    """Replace the marks of a line of what is added."""
    whole = _MARK.match(line)
    if whole is None:
        escaped = line.replace("{{", '{{ "{{" }}')
        yield _INLINE.sub(lambda found: _ADDED_FIELDS[found["path"]], escaped)
    elif whole["path"] in _ADDED_FIELDS:
        yield f"{whole['head']}{_ADDED_FIELDS[whole['path']]}"
    else:
        indent = len(line) - len(line.lstrip(" "))
        yield f"{' ' * indent}{{{{- with .{whole['path']} }}}}"
        yield f"{whole['head'].rstrip()}"
        yield f"{' ' * (indent + 2)}{{{{- toYaml . | nindent {indent + 2} }}}}"
        yield f"{' ' * indent}{{{{- end }}}}"


def _about(installation: Installation) -> Raw:
    return {
        "apiVersion": "v2",
        "name": _NAME,
        "description": "Thresholds, versions and expressions in tolerations, on any Kubernetes",
        "type": "application",
        "version": installation.release,
        "appVersion": installation.release,
        "kubeVersion": f">=1.{OLDEST_MINOR}.0-0",
    }


def _values(installation: Installation) -> str:
    values = (
        ("The image with the command moorage.", {"image": installation.image}),
        ("", {"imagePullPolicy": installation.pull_policy, "imagePullSecrets": list(installation.pull_secrets)}),
        (
            f"Lower Lt and Gt by an admission policy, without any webhook; needs Kubernetes 1.{POLICY_MINOR}.",
            {"policiesOnly": installation.policies_only},
        ),
        ("Let cert-manager make the certificates.", {"certManager": installation.cert_manager}),
        ("delete, as Kubernetes does for taints, or eviction, which asks budgets.", {"evictBy": installation.evict_by}),
        (
            "Operators that are left to the cluster: auto, none, or a list such as Lt,Gt.",
            {"native": installation.native},
        ),
        (
            "accept, or refuse: only what is lowered already is lowered. The first step to uninstall.",
            {"newComparisons": installation.new_comparisons},
        ),
        ("", {"priorityClassName": installation.priority_class, "nodeSelector": {}, "tolerations": []}),
        (
            "matchLabelKeys and tolerations that are added to pods, each by an admission policy; each has a name, "
            "matchLabelKeys, tolerations, namespaceSelector, podSelector.",
            {"additions": [_as_value(each) for each in installation.additions]},
        ),
        ("", {"webhook": installation.webhook._asdict(), "controller": installation.controller._asdict()}),
    )
    return "".join((f"# {comment}\n" if comment else "") + write_yaml(each) for comment, each in values)


def _as_value(addition: Addition) -> Raw:
    fields = {
        "name": addition.name,
        "namespaceSelector": addition.namespaces,
        "podSelector": addition.pods,
        "matchLabelKeys": list(addition.match_label_keys),
        "tolerations": list(addition.tolerations),
    }
    return {name: value for name, value in fields.items() if value}


def _templated(part: Part) -> str:
    text = "\n".join(_line(line) for line in write_yaml(part.document).rstrip("\n").split("\n")) + "\n"
    tests = " ".join(_IF[condition] for condition in part.conditions if _IF[condition])
    if not tests:
        return text
    return f"{{{{- if and {tests} }}}}\n{text}{{{{- end }}}}\n"


def _line(line: str) -> str:
    """Replace the marks of a line. Braces of expressions are not Helm's."""
    line = line.replace("{{", '{{ "{{" }}')
    whole = _MARK.match(line)
    if whole is None or whole["path"] == "namespace":
        return _INLINE.sub(lambda found: f"{{{{ {_expression(found['path'])} }}}}", line)
    path, head = whole["path"], whole["head"]
    if path not in _STRUCTURED:
        filters = "" if path.endswith("replicas") else " | quote"
        required = 'required "image: name the image with the command moorage" ' if path == "image" else ""
        return f"{head}{{{{ {required}{_expression(path)}{filters} }}}}"
    indent = len(head) - len(head.lstrip(" "))
    return f"{head}{{{{- toYaml {_expression(path)} | nindent {indent + 2} }}}}"


def _expression(path: str) -> str:
    return ".Release.Namespace" if path == "namespace" else f".Values.{path}"
