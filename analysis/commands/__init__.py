"""The commands of ``python -m analysis``, one module each with ``add(commands)``."""
