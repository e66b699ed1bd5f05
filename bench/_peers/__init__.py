"""What people use today beside WorldDB, each behind the same few calls, and what is asked of all of them."""
