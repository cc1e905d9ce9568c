"""Answer questions about capacity: one module for each command of `moorage capacity`."""
