"""The version of torchada, which packages, reports and `torchada.__version__` show."""

__version__ = "0.2.0"
