"""OpenAPI documents, for `kubectl explain`, editors, and clients that validate: `/openapi/v2` and `/openapi/v3`."""
