"""Simulated participants who play a study through its real pages."""
