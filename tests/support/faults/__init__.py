"""Fault tests: a scripted run, points to cut it at, and processes to run it in."""
