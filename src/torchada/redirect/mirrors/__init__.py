"""Environment variables of CUDA's that are kept in step with the backend's: visible devices, the allocator, collectives."""
