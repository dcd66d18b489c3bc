"""What torch_musa 2.11.0 has changed, see `_releases.names`."""
