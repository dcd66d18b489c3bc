"""What torch_musa 2.9.1 has changed, see `_releases.names`."""
