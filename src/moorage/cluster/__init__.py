"""Start and keep clusters: what `moorage up` and the component commands run."""
