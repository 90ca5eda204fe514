"""Methods without differential privacy: baselines that studies compare with, and nothing to publish under a guarantee.

They have a registry of their own and are never among `mechanisms()`; the ledger refuses them; whatever they make says
"No differential privacy." in its first line.
"""
