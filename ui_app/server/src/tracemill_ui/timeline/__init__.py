"""The timeline: lanes of events, read from the pyramid from afar and exactly when close.

Times leave the server as float64 nanoseconds since the start of the profile.
"""
