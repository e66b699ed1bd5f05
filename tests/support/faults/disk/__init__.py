"""What a disk is told by a process, and what could be on it if the power failed."""
