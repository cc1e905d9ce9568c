"""Parse command lines, and wire the parts of Moorage together: no other place does."""
