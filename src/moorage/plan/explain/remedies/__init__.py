"""Changes that would make a pod fit, each tried before it is suggested."""
