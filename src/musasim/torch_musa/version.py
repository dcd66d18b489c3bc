"""The facts that the real build writes next to its package: the imitated release, and the origin of the build."""

__version__ = "2.7.1+musasim"
git_version = "musasim"
