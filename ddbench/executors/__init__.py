"""Where the launches of a sweep run; `executor.py` says what every executor does."""
