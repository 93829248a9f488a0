"""The services for agents' hosts: answers to their hooks, and handing a branch over."""
