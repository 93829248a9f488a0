"""The MCP server: tools for agents, by profile. It calls rekal.app only and holds nothing open between calls."""
