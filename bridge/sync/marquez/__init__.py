"""Marquez as a target: runs in the order in which they began, and what stewards say beside them."""
