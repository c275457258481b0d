"""Rules that cross-examine what client, responses, log and counters say of the same steps."""
