"""Image names: which tag they ask for."""

import pytest

from moorage.admit.prepare.pod_defaults import image_tag

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:latest", "latest"),
        ("nginx:1.25", "1.25"),
        ("library/nginx", "latest"),
        ("localhost/x", "latest"),
        ("Host.example:5000/team/web:v1", "v1"),
        ("host.example:5000/web", "latest"),
        ("[2001:db8::1]:5000/web:v2", "v2"),
        (f"nginx@{DIGEST}", ""),
        (f"nginx:latest@{DIGEST}", "latest"),
        ("nginx:latest@sha256:" + "a" * 63, ""),
        ("nginx:latest@md5:" + "a" * 32, ""),
        ("a__b--c.d/e_f", "latest"),
        # no image references, and so no tag at all
        ("", ""),
        ("Nginx", ""),
        ("a" * 64, ""),
        ("nginx:", ""),
        ("nginx: latest", ""),
        ("a//b", ""),
        ("a___b", ""),
        ("x/" + "a" * 254, ""),
        ("nginx:" + "a" * 129, ""),
    ],
)
def test_image_tag(image: str, tag: str) -> None:
    assert image_tag(image) == tag
