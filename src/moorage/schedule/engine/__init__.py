"""The placement engine: candidates per shape, kept up to date slot by slot."""
