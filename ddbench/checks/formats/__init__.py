"""A report as text for people and for other programs. Pure: records in, text out."""
