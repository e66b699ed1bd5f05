"""Libraries in common use, each behind one interface, and the work that all of them do."""
