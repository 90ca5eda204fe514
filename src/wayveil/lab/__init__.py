"""The laboratory: what researchers need and a release does not. Nothing outside imports it; the product works without.

studies, audits with their broken variants, STRAP, comparison and recommendation, methods without a guarantee.
"""
