"""Attacks on one's own release: can somebody be singled out, linked, inferred, or told to be in the data?

Every attack is run against members (riders whose trips went into the release) and against controls (people of the same
source who did not), and says what it reaches on both. Internal: nothing of it is for publication.
"""
