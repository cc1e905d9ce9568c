"""One data directory, several lives of `moorage up`, each with other gates; and what the commands about gates say.

In: a directory. Out: a `Life`: a stage with eyes for events, controllers and audits.
"""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.forked_command import forked_moorage
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up
from tests.e2e.stories.stage import Raw, Stage

WAIT = "--timeout=120s"
#: The delay after a first failure, doubled after each: `moorage.control.framework.work_queue`.
FIRST_DELAY = 0.005
#: Other reasons to try again: the workload's status is written, its pods change.
OTHER_REASONS = 8


class Life(Stage):
    """See the module."""

    def __init__(self, kubectl: Kubectl) -> None:
        super().__init__(kubectl)
        self.began = time.monotonic()

    def is_gone(self, *pods: str) -> None:
        self.kubectl(f"wait --for=delete {' '.join(f'pod/{one}' for one in pods)} {WAIT}")

    def until(self, what: str, path: str, value: str) -> None:
        self.kubectl(f"""wait --for=jsonpath='{path}'="{value}" {what} {WAIT}""")

    def is_pending_because(self, name: str, why: str) -> None:
        """Its condition comes to say so; an event has said the same."""
        self.until(f"pod/{name}", '{.status.conditions[?(@.type=="PodScheduled")].message}', why)
        assert why in self.events(name, "FailedScheduling")
        assert self.read(f"pod {name}", "{.status.phase} {.spec.nodeName}") == "Pending "

    def events(self, name: str, reason: str) -> list[str]:
        selector = f"involvedObject.name={name},reason={reason}"
        return self.read(f"events --field-selector {selector}", '{range .items[*]}{.message}{"\\n"}{end}').splitlines()

    def event(self, reason: str, kind: str, **more: str) -> str:
        """The first event of this kind, as soon as there is one."""
        selector = ",".join([f"reason={reason}", f"involvedObject.kind={kind}", *(f"{k}={v}" for k, v in more.items())])
        return self.first_line(f"get events --field-selector {selector} -w -o jsonpath='{{.message}}{{\"\\n\"}}'")

    def pods(self, app: str) -> dict[str, str]:
        """The pods of a workload that are not being deleted, with their nodes."""
        items = self.object(f"pods -l app={app}")["items"]
        here = [one for one in items if "deletionTimestamp" not in one["metadata"]]
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in here}

    def does_not_loop_hot(self, controller: str) -> int:
        """How often a controller was refused; no oftener than growing delays allow since this life began."""
        refused = self.metric("moorage_controller_refused_requests_total", f'name="{controller}"')
        most = math.log2((time.monotonic() - self.began) / FIRST_DELAY + 1) + 1 + OTHER_REASONS
        assert 1 <= refused <= most, f"{controller} was refused {refused} times"
        return int(refused)

    def patch(self, what: str, operations: list[Raw]) -> Any:
        """A JSON patch; returns what kubectl came to."""
        path = self.kubectl.home / "patch.json"
        path.write_text(json.dumps(operations), encoding="utf-8")
        return self.kubectl.run(f"patch {what} --type=json --patch-file {path}")

    # -- moorage's own commands ---------------------------------------------------------------------------------------

    def moorage(self, *arguments: str, code: int = 0) -> str:
        ran = forked_moorage([*arguments, "--kubeconfig", str(self.kubectl.kubeconfig)])
        assert (ran.returncode, ran.stderr) == (code, ""), ran.stdout + ran.stderr
        return ran.stdout

    def gates(self) -> Any:
        return json.loads(self.moorage("gates", "-o", "json"))

    def audit(self, gate: str, *, breaks: bool = True) -> dict[str, list[str]]:
        """What would happen without the gate, by `Kind/name`; `!` in front of what somebody would notice."""
        said = json.loads(self.moorage("gates", "audit", "--gate", gate, "-o", "json", code=int(breaks)))
        [told] = said["gates"]
        return {
            f"{one['kind']}/{one['name']}": [
                f"{'!' if each['breaks'] else '-'} {each['component']}: {each['text']}" for each in one["consequences"]
            ]
            for one in told["findings"]
        }


@contextmanager
def life(directory: Path, gates: str, *options: str) -> Iterator[Life]:
    """The cluster in a directory, with these gates, until the end of the block."""
    kept = ("--nodes", "0", "--data-dir", str(directory / "data"), f"--feature-gates={gates}")
    with moorage_up(directory, *kept, *options) as running:
        yield Life(Kubectl(running.kubeconfig, running.home))
