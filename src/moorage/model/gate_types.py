"""Define what a feature gate is: its components, its stage and its history in the releases of Kubernetes.

`moorage.model.gates` has the gates themselves. Kubernetes: component-base/featuregate.
"""

from enum import StrEnum

import msgspec


class Component(StrEnum):
    """The processes that read gates, each with values of its own, so that version skew can be reproduced."""

    API_SERVER = "kube-apiserver"
    SCHEDULER = "kube-scheduler"
    CONTROLLER_MANAGER = "kube-controller-manager"
    KUBELET = "kubelet"


ALL_COMPONENTS = frozenset(Component)


class Stage(StrEnum):
    """How far a feature has come; `AllAlpha` and `AllBeta` set every gate of their stage that is not set by name."""

    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = "GA"


#: Earlier minor versions let a gate be on without those that it needs.
_FIRST_WITH_NEEDS = 35


class Release(msgspec.Struct, frozen=True):
    """What a Kubernetes release made of a gate: from this minor version on, this stage and this default.

    From `locked_from` on it cannot be set to another value.
    """

    minor: int
    stage: Stage
    default: bool
    locked_from: int | None = None


class Gate(msgspec.Struct, frozen=True):
    """One feature gate. `releases` is its history in Kubernetes, oldest first; empty if no release has it yet.

    `needs` names the gates without which it cannot be on; `locked` gates cannot be set to another value.
    """

    name: str
    stage: Stage
    default: bool
    components: frozenset[Component]
    feature: str
    releases: tuple[Release, ...] = ()
    needs: tuple[str, ...] = ()
    locked: bool = False

    def accepted_from(self) -> int | None:
        """Return the first minor version whose API server can accept the feature; None: no release so far."""
        return self.releases[0].minor if self.releases else None

    def accepted_by_default_from(self) -> int | None:
        return next((release.minor for release in self.releases if release.default), None)

    def in_release(self, minor: int) -> "Gate | None":
        """Return the gate as a minor version of Kubernetes has it; None if that does not have it."""
        past = [release for release in self.releases if release.minor <= minor]
        if not past:
            return None
        stage, default, locked_from = past[-1].stage, past[-1].default, past[-1].locked_from
        is_locked = locked_from is not None and locked_from <= minor
        needs = self.needs if minor >= _FIRST_WITH_NEEDS else ()
        return msgspec.structs.replace(self, stage=stage, default=default, locked=is_locked, needs=needs)


def alpha(minor: int) -> Release:
    return Release(minor, Stage.ALPHA, default=False)


def beta(minor: int, *, on: bool = True) -> Release:
    return Release(minor, Stage.BETA, default=on)


def ga(minor: int, *, locked_from: int | None = None) -> Release:
    return Release(minor, Stage.GA, default=True, locked_from=locked_from)


def released(
    name: str,
    components: frozenset[Component],
    feature: str,
    releases: tuple[Release, ...],
    needs: tuple[str, ...] = (),
    locked: bool = False,
) -> Gate:
    """Return a gate as the newest Kubernetes release has it."""
    newest = releases[-1]
    return Gate(name, newest.stage, newest.default, components, feature, releases, needs, locked)
