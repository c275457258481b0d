"""Planted faults: what a broken server does, one small class each. A healthy one has none."""
