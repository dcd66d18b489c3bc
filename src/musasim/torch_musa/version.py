"""What the real build writes next to its package: the release imitated, and whose build this is."""

__version__ = "2.7.1+musasim"
git_version = "musasim"
