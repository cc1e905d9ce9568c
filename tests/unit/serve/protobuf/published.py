"""Print the field numbers of Kubernetes' published messages, to compare ours with.

`python -m tests.unit.serve.protobuf.published API MACHINERY > tests/unit/serve/protobuf/published_numbers.txt`, where
API and MACHINERY are checkouts of github.com/kubernetes/api and apimachinery at the tag of the release.
"""

import re
import sys
from pathlib import Path

NUMBERS = Path(__file__).with_name("published_numbers.txt")
_GROUPS = [
    "apps",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "coordination",
    "core",
    "events",
    "policy",
    "resource",
    "scheduling",
    "storage",
]
_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (?:optional |repeated |map)\S.* (\w+) = (\d+);$", re.MULTILINE)


def read_proto(text: str, prefix: str = "") -> list[str]:
    """One line for each message: its name, and its fields with their numbers."""
    lines = []
    for name, body in _MESSAGE.findall(text):
        fields = sorted(_FIELD.findall(body), key=lambda field: int(field[1]))
        lines.append(" ".join([f"{prefix}{name}:", *(f"{field}={number}" for field, number in fields)]))
    return lines


def published_numbers() -> dict[str, dict[str, int]]:
    """The numbers of the fields of each message; `events.Name` and `resource.Name` for names that core has too."""
    rows = (line.partition(": ") for line in NUMBERS.read_text(encoding="utf-8").splitlines())
    words = ((name, (word.partition("=") for word in fields.split())) for name, _, fields in rows)
    return {name: {field: int(number) for field, _, number in pairs} for name, pairs in words}


def main(api: Path, machinery: Path) -> None:
    files = {f"{group}/v1": api / group / "v1" / "generated.proto" for group in _GROUPS}
    files["resource/v1beta2"] = api / "resource" / "v1beta2" / "generated.proto"
    files["meta/v1"] = machinery / "pkg/apis/meta/v1/generated.proto"
    lines = {}
    for (
        group,
        file,
    ) in files.items():  # the last one counts: core has an older Preconditions, and authentication another TokenRequest
        for line in read_proto(file.read_text(encoding="utf-8"), "events." if group == "events/v1" else ""):
            name = line.partition(":")[0]
            if group.startswith("resource/") and name == "ResourceClaim":
                line, name = f"resource.{line}", f"resource.{name}"
            if group != "resource/v1beta2" or name not in lines:
                lines[name] = line
    sys.stdout.write("".join(f"{lines[name]}\n" for name in sorted(lines)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
