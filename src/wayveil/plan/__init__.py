"""A plan as a public file: source, needs, protection, mechanism and outputs. No noise is drawn here, and raw
rows are only looked at to guess a plan.
"""
