"""Figures of a study, one module a figure: its numbers, its drawing, its words."""
