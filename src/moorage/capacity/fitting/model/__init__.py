"""Solve the cutting-stock problem behind a mix: shapes of pods, kinds of node, prices, and bounds of pools."""
