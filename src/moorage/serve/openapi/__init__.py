"""OpenAPI: what the API's documents look like, for `kubectl explain`, for editors and for clients that check first.

In: kinds. Out: documents as bytes, and their entity tags. Kubernetes: `/openapi/v2` and `/openapi/v3`.
"""

from moorage.serve.openapi.documents import etag_of, openapi_v2, openapi_v3, openapi_v3_index

__all__ = ["etag_of", "openapi_v2", "openapi_v3", "openapi_v3_index"]
