"""Speed and memory goals: ``make bench``."""
