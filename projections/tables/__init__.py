"""Tables that commit in the log's own transaction."""
