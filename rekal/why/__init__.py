"""The turn that wrote a line, and the reasons it gives."""
