"""Start, stop, save and check clusters that are kept."""
