"""The indexes that catch up with the log by checkpoint."""
