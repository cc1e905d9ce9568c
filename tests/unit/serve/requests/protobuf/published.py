"""Print the field numbers of Kubernetes' published messages, to compare ours with.

`python -m tests.unit.serve.requests.protobuf.published STAGING > …/published_numbers.txt`, where STAGING
is `staging/src/k8s.io` of a checkout of github.com/kubernetes/kubernetes at the tag of the release. Messages are called
as their OpenAPI definitions are, because several groups have types of one name.
"""

import re
import sys
from pathlib import Path

NUMBERS = Path(__file__).with_name("published_numbers.txt")
_GROUPS = [
    "admissionregistration",
    "apps",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "certificates",
    "coordination",
    "core",
    "discovery",
    "events",
    "flowcontrol",
    "networking",
    "node",
    "policy",
    "rbac",
    "resource",
    "scheduling",
    "storage",
]
#: Folders with a generated.proto, by the package of its definitions.
_FOLDERS = {
    **{f"io.k8s.api.{group}.v1": f"api/{group}/v1" for group in _GROUPS},
    "io.k8s.api.autoscaling.v2": "api/autoscaling/v2",
    "io.k8s.api.resource.v1beta2": "api/resource/v1beta2",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "io.k8s.apimachinery.pkg.apis.meta.v1": "apimachinery/pkg/apis/meta/v1",
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": "kube-aggregator/pkg/apis/apiregistration/v1",
}
_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (?:optional |repeated |map)\S.* (\w+) = (\d+);$", re.MULTILINE)


def read_proto(text: str, package: str) -> list[str]:
    """One line for each message: its name, and its fields with their numbers."""
    lines = []
    for name, body in _MESSAGE.findall(text):
        fields = sorted(_FIELD.findall(body), key=lambda field: int(field[1]))
        rename = _json_name if name == "JSONSchemaProps" else str
        lines.append(" ".join([f"{package}.{name}:", *(f"{rename(field)}={number}" for field, number in fields)]))
    return lines


def _json_name(name: str) -> str:
    """The name in JSON of a schema's field."""
    if name.startswith("xKubernetes"):
        return re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", name)
    return {"ref": "$ref", "schema": "$schema"}.get(name, name)


def published_numbers() -> dict[str, dict[str, int]]:
    """The numbers of the fields of each message, by the name of its definition and theirs in small letters.

    Some messages spell a field in capitals that JSON does not have.
    """
    rows = (line.partition(": ") for line in NUMBERS.read_text(encoding="utf-8").splitlines())
    words = ((name, (word.partition("=") for word in fields.split())) for name, _, fields in rows)
    return {name: {field.lower(): int(number) for field, _, number in pairs} for name, pairs in words}


def main(staging: Path) -> None:
    texts = {name: (staging / at / "generated.proto").read_text(encoding="utf-8") for name, at in _FOLDERS.items()}
    lines = [line for package, text in texts.items() for line in read_proto(text, package)]
    sys.stdout.write("".join(f"{line}\n" for line in sorted(lines)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
