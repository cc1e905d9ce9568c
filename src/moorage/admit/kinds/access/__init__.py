"""What the API server says about the kinds that say who may do what."""
