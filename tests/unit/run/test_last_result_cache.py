"""A function's last answer is given again for pods that agree in what the function reads, and for no others."""

from tests.unit.schedule.clusters import pod

from moorage.model.types.pod import Pod
from moorage.run.last_result_cache import remember_last


class Asked:
    """A function of a pod's labels and of a word, and whom it was asked about."""

    def __init__(self) -> None:
        self.names: list[str] = []

        @remember_last("metadata.labels", "spec.nodeSelector")
        def described(of: Pod, word: str = "") -> list[str]:
            self.names.append(of.metadata.name)
            return [*of.metadata.labels, *of.spec.nodeSelector, word]

        self.described = described


def test_pods_of_one_template_share_a_cached_result() -> None:
    asked = Asked()
    first = asked.described(pod("a", labels={"app": "web"}), "x")
    assert asked.described(pod("b", labels={"app": "web"}), "x") is first
    assert asked.names == ["a"]


def test_differing_field_is_a_cache_miss() -> None:
    asked = Asked()
    assert asked.described(pod("a", labels={"app": "web"})) == ["app", ""]
    assert asked.described(pod("b", labels={"tier": "web"})) == ["tier", ""]
    assert asked.described(pod("c", labels={"tier": "web"}, nodeSelector={"disk": "ssd"})) == ["tier", "disk", ""]
    assert asked.names == ["a", "b", "c"]


def test_differing_argument_is_a_cache_miss() -> None:
    asked = Asked()
    assert asked.described(pod("a"), "x") == ["x"]
    assert asked.described(pod("a"), "y") == ["y"]


def test_only_the_last_result_is_cached() -> None:
    asked = Asked()
    for word in ("x", "y", "x"):
        asked.described(pod("a"), word)
    assert len(asked.names) == 3


def test_functions_do_not_share_cached_results() -> None:
    one, other = Asked(), Asked()
    one.described(pod("a"))
    other.described(pod("b"))
    assert (one.names, other.names) == (["a"], ["b"])
