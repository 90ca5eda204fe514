"""Audits that try to break the claimed epsilon, and the broken variants that they must catch. For internal eyes."""
