"""DDB3xx: how the server was started and where it ran."""
