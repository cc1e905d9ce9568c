"""Typed views of volumes, claims, classes and storage drivers."""
