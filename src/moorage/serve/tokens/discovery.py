"""Publish the keys of service account tokens, for others to verify them: OpenID discovery and a JSON Web Key Set.

Kubernetes: NewOpenIDMetadataProvider, pkg/routes. Differs: a key set that says how long it may be kept is made anew for
each request; keys change at a restart only.
"""

from typing import Final

from moorage.serve.http.messages import Response
from moorage.serve.requests.rendering import json_response
from moorage.serve.tokens.service_accounts import ServiceAccountTokens

CONFIGURATION_PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/openid/v1/jwks"
_HEADERS = (("Cache-Control", "public, max-age=3600"),)


def answer_key_discovery(path: str, tokens: ServiceAccountTokens, url: str) -> Response | None:
    """Return the answer to a GET; None for other paths, and if discovery does not allow the issuer.

    `url` is the API server's own.
    """
    if path not in (CONFIGURATION_PATH, KEYS_PATH) or not tokens.settings.has_discovery:
        return None
    keys = tokens.keys.public
    if path == KEYS_PATH:
        answer = json_response({"keys": [key.as_jwk() for key in keys]}, headers=_HEADERS)
        answer.content_type = "application/jwk-set+json"
        return answer
    configuration = {
        "issuer": tokens.settings.issuers[0],
        "jwks_uri": tokens.settings.jwks_uri or f"{url}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
    }
    return json_response(configuration, headers=_HEADERS)
