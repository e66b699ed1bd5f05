"""The reconciler: the only way to change anything.

Commands go in; decided events reach the log.
"""
