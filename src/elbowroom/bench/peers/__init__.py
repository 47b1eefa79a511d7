"""The libraries that a user would take instead, and our own calls beside them.

How they do among people is in encounters/methods.py.
"""
