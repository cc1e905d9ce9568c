"""Write logs, metrics and profiles under Kubernetes' names."""
