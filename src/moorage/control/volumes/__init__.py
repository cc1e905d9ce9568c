"""The volume controllers: binding, provisioning, protection, ephemeral claims. Kubernetes: pkg/controller/volume."""
