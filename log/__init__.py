"""The log: the truth. Imports nothing else of WorldDB."""
