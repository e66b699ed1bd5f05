"""Benchmark programs: `python -m bench.NAME` from the repository root."""
