"""Public knowledge: places, the moves between them, and time bins. No trip ever enters this room."""
