"""The agency's year: one source, one plan, one budget, a release every day, week or month."""
