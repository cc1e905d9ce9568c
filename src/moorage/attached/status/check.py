"""Run all checks over what was read of a cluster, in the order in which the pieces depend on each other."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from moorage import __version__
from moorage.attached import names
from moorage.attached.install.settings import Installation
from moorage.attached.status import pieces
from moorage.attached.status.as_printed import Compared, compared
from moorage.attached.status.finding import Item, Level, Section, section, wrong
from moorage.attached.status.installed import install_command, installation_of
from moorage.attached.status.lowered import check_lowered, check_way_over
from moorage.attached.status.lowered_objects import lowered_objects
from moorage.attached.status.nodes import asked_questions_of, check_match_labels, check_nodes
from moorage.attached.status.pools import check_pools
from moorage.attached.status.snapshot import Snapshot
from moorage.model.kinds import KINDS
from moorage.pools.mirror import PoolTemplate

Raw = dict[str, Any]


class Status(NamedTuple):
    """What all checks have found."""

    namespace: str
    sections: tuple[Section, ...]

    @property
    def level(self) -> Level:
        order = list(Level)
        return max((each.level for each in self.sections), key=order.index)

    def items(self, level: Level) -> list[Item]:
        return [item for each in self.sections for item in each.items if item.level is level]

    def as_json(self) -> Raw:
        return {
            "release": __version__,
            "namespace": self.namespace,
            "level": self.level.value,
            "sections": [each.as_json() for each in self.sections],
        }


def check_status(snapshot: Snapshot, templates: Sequence[PoolTemplate] = ()) -> Status:
    """Check an installation, and every node and lowered object of its cluster."""
    installation = installation_of(snapshot)
    found = compared(snapshot, installation)
    objects = lowered_objects(snapshot)
    asked = asked_questions_of(snapshot)
    logs = f"kubectl -n {snapshot.namespace} logs -l app.kubernetes.io/name={names.CONTROLLER} --tail=50"
    sections = [
        pieces.check_cluster(snapshot),
        *_of_installation(snapshot, found, installation),
        check_nodes(snapshot),
        check_match_labels(snapshot, asked, logs),
        check_lowered(snapshot, objects),
        check_pools(templates, objects, asked),
        check_way_over(snapshot, objects, has_webhook=installation.has_webhook),
    ]
    return Status(snapshot.namespace, tuple(each for each in sections if each is not None))


def _of_installation(snapshot: Snapshot, found: Sequence[Compared], installation: Installation) -> Iterable[Section]:
    if not any(each.live is not None or each.unread for each in found if each.kind is not KINDS.NAMESPACE):
        text = f"nothing of moorage attach is there, looked for in namespace {snapshot.namespace}"
        yield section("installation", [wrong(text, install_command(installation))])
        return
    yield pieces.check_mirroring(snapshot, found, installation)
    yield pieces.check_lowering(snapshot, found, installation)
    yield pieces.check_webhook(snapshot, installation)
    yield pieces.check_controller(snapshot, installation)
    yield pieces.check_certificates(snapshot, installation)
    yield pieces.check_objects(snapshot, found, installation)


def status_lines(status: Status) -> list[str]:
    """Return the report as text: a line for each item, with what mends it below, and a sum."""
    width = max(len(each.name) for each in status.sections)
    lines: list[str] = []
    for part in status.sections:
        name = part.name
        for index, item in enumerate(part.items):
            lines.append(
                f"{name:<{width}}  {item.level.value + ':' if item.level is not Level.FINE else 'ok:':<12} {item.text}"
            )
            if item.mend and item.mend not in (each.mend for each in part.items[index + 1 : index + 2]):
                lines.append(f"{'':<{width}}  {'':<12} → {item.mend}")
            name = ""
    wrong, unknown = len(status.items(Level.WRONG)), len(status.items(Level.UNKNOWN))
    sums = [f"{wrong} problem{'' if wrong == 1 else 's'}" if wrong else "nothing is wrong"]
    if unknown:
        sums.append(f"{unknown} not checked")
    return [*lines, "", "; ".join(sums)]
