"""How torchada shows what it knows: pages, JSON Schemas, severities, text, the terminal, words for kinds of answers."""
