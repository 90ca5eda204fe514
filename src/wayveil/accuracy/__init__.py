"""Trust in the numbers of a release: intervals, replicas, and a verdict on every kind of question."""
