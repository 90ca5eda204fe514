"""From a private model to private trips. Nothing here can reach raw trips: all of it is post-processing."""
