"""Verbs of the API: read, watch, create, change, patch, delete, scale, and bind and evict for pods.

They know nothing of HTTP: `handler` calls them for requests, `loopback` for components in the same process.
"""
