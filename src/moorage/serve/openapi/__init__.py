"""OpenAPI documents, for `kubectl explain`, editors, and clients that validate: `/openapi/v2` and `/openapi/v3`."""

from moorage.serve.openapi.documents import etag_of, openapi_v2, openapi_v3, openapi_v3_index

__all__ = ["etag_of", "openapi_v2", "openapi_v3", "openapi_v3_index"]
