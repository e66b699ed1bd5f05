"""Bytes and hashes of the format, written out. Changing one of them is a format change."""
