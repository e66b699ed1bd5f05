"""Recorded disk operations, and the possible contents of the disk after a power failure."""
