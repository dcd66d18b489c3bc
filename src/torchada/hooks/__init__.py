"""WHEN: the finder's second half, the modules that are watched, and what becomes of each."""
