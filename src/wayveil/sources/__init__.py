"""The raw files as they are: formats, dialects and columns of other people, read as one table under our names."""
