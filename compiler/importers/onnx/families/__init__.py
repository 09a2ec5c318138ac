"""One table a family of ONNX ops: what each becomes in the graph. A node knows its opset where versions differ."""
