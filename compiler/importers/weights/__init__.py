"""Weights in files: safetensors and GGUF, mapped, and quantised ones as the ops that give their numbers."""
