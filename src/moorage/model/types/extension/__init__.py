"""Typed views of the kinds that extend the API."""
