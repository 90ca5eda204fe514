"""How good is a release? Compares raw and released trips: what it computes is not for publication."""
