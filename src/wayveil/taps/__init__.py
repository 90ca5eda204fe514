"""The tap table of a transit agency: one row per boarding, often without card and without alighting."""
