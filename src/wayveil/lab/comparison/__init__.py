"""Which mechanism for which question? Many releases of one dataset, measured alike. Not for publication."""
