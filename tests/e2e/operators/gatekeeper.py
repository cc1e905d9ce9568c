"""An operator written with kopf whose admission handlers are webhooks that it serves itself.

It writes its own webhook configurations, and is reached at its own HTTPS server, with the certificate in the directory
$CERTIFICATES. In: ConfigMaps with the label `guarded`. Out: those of the colour black are refused, those of no colour
become white, grey ones get a warning. Run by `test_kopf_admission` with `kopf run`.
"""

import os
from pathlib import Path
from typing import Any

import kopf

GUARDED = {"guarded": "yes"}


@kopf.on.startup()
def prepare(settings: kopf.OperatorSettings, **_: Any) -> None:
    directory = Path(os.environ["CERTIFICATES"])
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        certfile=directory / "tls.crt",
        pkeyfile=directory / "tls.key",
        cafile=directory / "ca.crt",
    )
    settings.admission.managed = "gatekeeper.example.com"
    settings.posting.enabled = False


@kopf.on.validate("v1", "configmaps", labels=GUARDED, operations=["CREATE", "UPDATE"])
def refuse_black(body: kopf.Body, warnings: list[str], userinfo: kopf.UserInfo, **_: Any) -> None:
    color = (body.get("data") or {}).get("color")
    if color == "black":
        raise kopf.AdmissionError(f"black is not for {userinfo['username']}", code=418)
    if color == "grey":
        warnings.append("grey is going out of fashion")


@kopf.on.mutate("v1", "configmaps", labels=GUARDED, operations=["CREATE"])
def choose_white(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    if not (body.get("data") or {}).get("color"):
        patch["data"] = {**(body.get("data") or {}), "color": "white"}


@kopf.on.validate("v1", "configmaps", labels=GUARDED, operation="DELETE")
def keep(body: kopf.Body, **_: Any) -> None:
    if (body.get("data") or {}).get("kept"):
        raise kopf.AdmissionError("it is kept")
