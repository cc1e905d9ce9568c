"""Verbs of the API: read, watch, create, change, patch, delete, scale, and bind and evict for pods.

They know nothing of HTTP: `requests.handler` calls them for requests, `requests.loopback` for components in this
process.
"""
