"""Libraries that people use today, each behind one interface, and the work that is asked of all."""
