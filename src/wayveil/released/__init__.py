"""What a release holds: private trips, their model and datasheet, the signature, and whether it is believed."""
