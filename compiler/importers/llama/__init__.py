"""Llama-class models from their own weights: configuration, names of the weights, and the graphs of a model."""
