"""What happens between a user's intent and a view model: starting jobs, taking their answers, keeping them current.

Large because each feature of the window is one module here, with its docks, commands and keys.
"""
