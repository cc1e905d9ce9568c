"""Tell what happens to objects when feature gates are disabled or switched."""
