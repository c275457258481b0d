"""What this machine can run, and how to get what it lacks."""
