"""Suites that others wrote, run unchanged and scored. README.md tells how."""
