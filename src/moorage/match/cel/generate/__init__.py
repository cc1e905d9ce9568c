"""Long loops to Python source: what the closures of `evaluate` answer and charge, in a tenth of the time."""
