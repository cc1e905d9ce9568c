"""Schemas of custom resources, compiled from openAPIV3Schema."""
