"""Stores of every released format, as written then."""
