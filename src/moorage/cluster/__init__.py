"""A running control plane in this process: what `moorage up` and the component commands start."""
