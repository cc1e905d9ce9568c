"""Complete words for a shell: commands, options and the values there are to choose from."""
