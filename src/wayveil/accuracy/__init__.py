"""How far the numbers of a release can be trusted: intervals, replicas, and a verdict on every kind of question."""
