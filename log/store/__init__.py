"""The effects: the LMDB environment, the log in it, its lock between processes, and its verification."""
