"""Tables of names that more than one wing needs, and what looks names up in them."""
