"""Reports a person reads: `document` gathers a run as plain data, the others write it as HTML, Markdown or text."""
