"""Public question and record sets: reading them, asking them, scoring and judging what is answered."""
