"""The toolkit's shared libraries but libmusart: libmusa, libmccl, libmublas and other host APIs."""
