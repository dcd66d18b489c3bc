"""The facts that the real build writes next to its package: the imitated release, and the origin of the build."""

from musasim.base import release as _release

__version__ = _release.version()
git_version = "musasim"
