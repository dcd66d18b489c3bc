"""What a program may switch or ask: undo and redo, platforms, status, start-up files."""
