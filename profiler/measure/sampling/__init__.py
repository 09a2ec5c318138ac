"""Where inside a kernel the time goes: a clock looks again and again at what is being executed."""
