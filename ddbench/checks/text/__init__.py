"""DDB5xx: the text that came out."""
