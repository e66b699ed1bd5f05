"""Helpers of the fault tests: a scripted run, the places where it can be cut, and processes to do it in."""
