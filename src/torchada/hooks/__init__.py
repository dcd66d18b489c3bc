"""WHEN: the finder's second half, the modules that are watched, and what is done with each."""
