"""Sentence encoders of BERT's kind: configuration and weights to the graph that gives embeddings."""
