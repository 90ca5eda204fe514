"""Helpers for the people who keep the project: release checks and the pages of the site."""
