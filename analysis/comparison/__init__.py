"""Conditions compared: differences, tests, models and what they assume (statistics.md 4)."""
