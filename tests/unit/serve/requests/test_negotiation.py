"""Accept headers: the dearest form that can be had, or 406."""

import pytest

from moorage.model.api_error import ApiError
from moorage.serve.requests.rendering import As, Form, negotiate

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FORMS = [
    ("", Form()),
    (" ", Form()),
    ("*/*", Form()),
    ("application/*", Form()),
    ("APPLICATION/JSON", Form()),
    ("application/json;stream=watch", Form()),
    ("application/yaml", Form(is_yaml=True)),
    ("application/vnd.kubernetes.protobuf,application/json", Form()),
    ("text/html, */*;q=0.1", Form()),
    (TABLE, Form(As.TABLE)),
    ("application/json; as=Table; g=meta.k8s.io; v=v1beta1", Form(As.TABLE, version="v1beta1")),
    (f"{TABLE},application/json", Form(As.TABLE)),
    (f"application/json;as=Table;v=v2;g=meta.k8s.io,{TABLE}", Form(As.TABLE)),
    ("application/json;as=Table;v=v1;g=other,application/json", Form()),
    ("application/yaml;as=Table;v=v1;g=meta.k8s.io", Form(As.TABLE, is_yaml=True)),
    ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(As.METADATA)),
    ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form(As.METADATA_LIST)),
    ("application/json;q=0.5, application/yaml", Form(is_yaml=True)),
    ("application/json;q=0.5, application/yaml;q=0.4", Form()),
    ("*/*, application/yaml", Form(is_yaml=True)),
    ("application/json;q=0, application/yaml;q=0.1", Form(is_yaml=True)),
    ("application/json;q=what", Form()),
]


@pytest.mark.parametrize(("accept", "form"), FORMS)
def test_which_form_is_wanted(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


REFUSED = [
    "text/html",
    "application/vnd.kubernetes.protobuf",
    "application/json;q=0",
    "application/json;q=0.000",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=Table;v=v1",
    "application/json;as=;v=v1;g=meta.k8s.io",
    "application/json;as=Chart;v=v1;g=meta.k8s.io",
]


@pytest.mark.parametrize("accept", REFUSED)
def test_what_cannot_be_had(accept: str) -> None:
    with pytest.raises(ApiError) as refusal:
        negotiate(accept)
    assert (refusal.value.code, refusal.value.reason) == (406, "NotAcceptable")
    said = "only the following media types are accepted: application/json, application/yaml"
    assert refusal.value.message == said
