"""The dashboard's panels: one function each, from aggregate tables to what the page draws.

The page only draws. Every number, share, order and sentence is made here.
"""
