"""DDB4xx: what must hold between runs, and which runs may be compared at all."""
