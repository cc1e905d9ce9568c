"""Structs as Go prints them where they have no JSON names."""

from typing import Any

import pytest

from moorage.admit.messages.rejections import internal_form
from moorage.model.go.quoting import go_json
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import PodSpec, PodTemplateSpec, Toleration
from moorage.model.types.storage import Volume
from moorage.model.types.view import View
from moorage.model.types.volume_sources import RBDVolumeSource

TOLERATION = '"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":null'


@pytest.mark.parametrize(
    ("view", "raw", "shown"),
    [
        (Toleration, {"key": "a"}, f"{{{TOLERATION}}}"),
        (Toleration, {"key": "a", "expression": "true"}, f'{{{TOLERATION},"Expression":"true"}}'),
        (
            RBDVolumeSource,
            {"monitors": ["m"], "image": "i"},
            '{"CephMonitors":["m"],"RBDImage":"i","FSType":"","RBDPool":"","RadosUser":"","Keyring":"",'
            '"SecretRef":null,"ReadOnly":false}',
        ),
        (
            ObjectMeta,
            {"name": "n", "labels": {}, "ownerReferences": [{"name": "o"}]},
            '{"name":"n","ownerReferences":[{"apiVersion":"","kind":"","name":"o","uid":""}]}',
        ),
    ],
)
def test_structs(view: type[View], raw: dict[str, Any], shown: str) -> None:
    assert go_json(internal_form(convert_view(raw, view))) == shown


def test_metadata_is_part_of_a_template_and_empty_lists_are_not_absent_ones() -> None:
    template = convert_view({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}, PodTemplateSpec)
    shown = go_json(internal_form(template))
    assert shown.startswith('{"labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[],')


def test_the_namespaces_of_the_host_are_in_the_security_context() -> None:
    raw = {"hostPID": True, "serviceAccount": "s", "overhead": {"cpu": "1000m"}, "securityContext": {"fsGroup": 1}}
    shown = internal_form(convert_view(raw, PodSpec))
    names = list(shown)
    assert "HostPID" not in shown
    assert "ServiceAccount" not in shown
    assert (shown["ServiceAccountName"], shown["Overhead"]) == ("s", {"cpu": "1"})
    assert list(shown["SecurityContext"])[:6] == [
        *("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers", "SELinuxOptions")
    ]
    assert names[names.index("Subdomain") + 1] == "SetHostnameAsFQDN"
    assert names[names.index("Priority") + 1] == "PreemptionPolicy"


def test_volumes_begin_with_their_name() -> None:
    assert list(internal_form(Volume(name="v")))[:3] == ["Name", "HostPath", "EmptyDir"]
