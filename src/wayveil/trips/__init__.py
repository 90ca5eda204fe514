"""The raw trips, as columns: the class `Trips`, its readers, writers and checks."""
