"""Describe resources: served kinds and routes, discovery, stored objects, selectors, older versions."""
