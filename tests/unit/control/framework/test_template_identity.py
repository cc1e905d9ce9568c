"""Resources that say nothing do not make another template."""

from moorage.control.framework.workloads import telling_part

CONTAINER = {"name": "c", "image": "i"}


def test_empty_resources_do_not_tell() -> None:
    shown = {
        "spec": {"containers": [{**CONTAINER, "resources": {}}], "initContainers": [{**CONTAINER, "resources": {}}]}
    }
    said = {"spec": {"containers": [CONTAINER], "initContainers": [CONTAINER]}}
    assert telling_part(shown) == telling_part(said) == said
    assert shown["spec"]["containers"][0]["resources"] == {}


def test_everything_else_tells() -> None:
    asking = {"spec": {"containers": [{**CONTAINER, "resources": {"limits": {"cpu": "1"}}}], "securityContext": {}}}
    assert telling_part(asking) == asking
    assert telling_part({"metadata": {}}) == {"metadata": {}}
    assert telling_part({"spec": {"containers": None}}) == {"spec": {"containers": None}}
