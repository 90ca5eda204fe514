"""Exact counts of bounded trips, behind one small protocol. What is counted here leaves only through the gate."""
