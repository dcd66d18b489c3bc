"""HOW: patch records, the engine that applies and undoes them, and the replacements that areas build records from."""
