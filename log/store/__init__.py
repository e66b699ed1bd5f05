"""The effects: the LMDB environment, the log in it, the writers' lock, and verification."""
