"""mcc: it preprocesses with the host's compiler, rewrites kernels and launches, compiles and links."""
