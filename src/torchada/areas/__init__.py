"""WHAT: one area of torch per file. An area is data: `patches(context)` returns records, and the engine acts on them."""
