"""Figures of merit that only studies and benches use."""
