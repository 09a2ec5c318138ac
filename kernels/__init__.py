"""The kernel library: kernel-language source, read as text by the compiler and never imported as Python."""
