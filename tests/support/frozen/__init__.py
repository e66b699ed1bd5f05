"""Stores of every released format, as they were written then."""
