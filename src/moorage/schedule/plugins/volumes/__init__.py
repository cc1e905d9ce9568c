"""Plugins that decide by a pod's volumes."""
