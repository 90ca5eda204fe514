"""How safe is a release? Attacks and audits that try to break the claimed epsilon.

This room sees raw trips and exact counts: its figures are for the data holder's eyes and not for publication.
"""
