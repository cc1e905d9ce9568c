"""The page shows what `attach status` and `attach uninstall` print, of the cluster that it describes."""

from pathlib import Path
from typing import Any

from tests.unit.attached.status.live import gt, node, running, snapshot_of, taint, workload
from tests.unit.attached.status.test_status import NODE_POOL, USUAL, templates

from moorage.attach.objects import lowered
from moorage.attached.install.settings import REFUSE
from moorage.attached.status.check import check_status, status_lines
from moorage.attached.uninstall.report import way_back_lines
from moorage.attached.uninstall.stages import way_back

Raw = dict[str, Any]
PAGE = Path(__file__).resolve().parents[4] / "docs" / "attach.md"
CEL = {"key": "spot", "operator": "CEL", "value": "int(taint.value) % 2 == 0", "effect": "NoExecute"}
LABEL = {"num.noschedule.taint.moorage.dev/spot": "2000"}
WORKLOADS = [lowered(workload("Deployment", "batch", gt())), lowered(workload("CronJob", "nightly", CEL))]


def nodes(match: dict[str, str]) -> list[Raw]:
    return [
        node("node-1", taint("960"), labels=match),
        node("node-2", taint("990"), labels=match),
        node("node-3", labels={**match, **LABEL}),
    ]


def match_label() -> dict[str, str]:
    template = WORKLOADS[1]["spec"]["jobTemplate"]["spec"]["template"]
    affinity = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return {affinity["nodeSelectorTerms"][0]["matchExpressions"][0]["key"]: "true"}


def test_status() -> None:
    labels = "{" + ", ".join(f'{name}: "{value}"' for name, value in match_label().items()) + "}"
    found, _ = templates(NODE_POOL % labels, "nodepools/spot.yaml")
    documents = [*running(USUAL), *nodes(match_label()), *WORKLOADS]
    lines = status_lines(check_status(snapshot_of(documents, USUAL), found))
    assert "```text\n" + "\n".join(lines) + "\n```" in PAGE.read_text(encoding="utf-8")


def test_uninstall() -> None:
    installation = USUAL._replace(new_comparisons=REFUSE)
    documents = [*running(installation), *nodes({}), *WORKLOADS]
    lines = way_back_lines(way_back(snapshot_of(documents, installation)), shows_all=False)
    assert "```text\n" + "\n".join(lines) + "\n```" in PAGE.read_text(encoding="utf-8")
