"""The simulated device under the names of other vendors' adapters."""
