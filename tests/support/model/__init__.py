"""A plain model of what the engine means, written from the design and not from the code."""
