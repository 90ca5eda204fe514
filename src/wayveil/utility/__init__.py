"""Measures of how good a release is. Compares raw and released trips: what it computes is not for publication."""
