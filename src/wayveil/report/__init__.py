"""Pages for people: the report that may be published and the one for internal eyes only."""
