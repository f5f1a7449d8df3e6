"""A race of the wave index against what people would use instead.

All have the same rows and the same questions, and answers are checked.
"""
