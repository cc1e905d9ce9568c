"""Read the changes that a what-if is asked about, and write them as commands."""
