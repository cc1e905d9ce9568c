"""The Job controller and the TTL-after-finished controller. Kubernetes: pkg/controller/job."""
