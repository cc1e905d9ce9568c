"""Custom resources: what their definitions say, and what their objects must be. It knows no server."""
