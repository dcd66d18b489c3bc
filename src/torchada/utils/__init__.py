"""Names of earlier releases of torchada."""
