"""Questions to a release and their answers: what can be asked, how it is counted, what changed between two."""
