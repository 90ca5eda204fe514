"""Contents of a release: private trips, their model and datasheet, the signature, and whether it is believed."""
