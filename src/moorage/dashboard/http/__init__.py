"""Serve the dashboard over HTTP on loopback: sessions, checks of Host and Origin, assets, routes."""
