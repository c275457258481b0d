"""Results that other benchmark tools wrote: one format a file."""
