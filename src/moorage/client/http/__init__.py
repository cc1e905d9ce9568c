"""The client protocol over HTTPS."""
