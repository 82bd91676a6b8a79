"""Fit and check of the roofline against public measurements of serving engines."""
