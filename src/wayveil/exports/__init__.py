"""A release in the formats that people already use; one module per format, `menu` says what each is good for."""
