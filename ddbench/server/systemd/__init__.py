"""Servers under systemd: a transient unit of our own, or a unit that an administrator wrote."""
