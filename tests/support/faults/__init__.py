"""Helps the fault tests: a scripted run, places to cut it, processes to do it in."""
