"""The toolkit's small programs: musaInfo, mthreads-gmi, musa_toolkits_version."""
