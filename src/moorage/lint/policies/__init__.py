"""Ask the policies and webhooks of objects in files, or of a simulated cluster, about other objects."""
