"""Tables of names that more than one wing needs, and the classes that look names up in them."""
