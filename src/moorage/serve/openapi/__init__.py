"""Publish OpenAPI documents for `kubectl explain`, editors and validating clients: `/openapi/v2`, `/openapi/v3`."""
