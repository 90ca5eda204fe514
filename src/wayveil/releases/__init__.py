"""All that may leave the building: the release, its datasheet, its signature, and how to check them."""
