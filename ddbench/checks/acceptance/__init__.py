"""DDB1xx: how many drafted tokens were accepted, and whether the witnesses agree."""
