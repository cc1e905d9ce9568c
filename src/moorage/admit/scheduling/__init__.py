"""Validation of the fields that decide where a pod runs. Kubernetes: pkg/apis/core/validation/validation.go."""
