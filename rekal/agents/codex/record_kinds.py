"""The kinds of record in a Codex roll-out. What is in none of these sets is reported as drift."""

from __future__ import annotations

CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
ANSWERS = {
    "function_call_output",
    "custom_tool_call_output",
    "tool_search_output",
    "local_shell_call_output",
}
AT_ONCE = {"web_search_call": "web_search", "image_generation_call": "image_generation"}
"""Calls recorded together with their answer, and the tool each is one of."""

STARTS = {"task_started", "turn_started"}
ENDS = {"task_complete", "turn_complete", "turn_aborted"}

TYPED = (None, "plain")
"""Kinds of prompt that a person typed; of old the program's own came as prompts, too."""
UNTYPED = ("user_instructions", "environment_context")
ROLES = ("user", "assistant", "developer", "system")

QUIET_KINDS = {
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "security_risk_score",
    "realtime_item",
}
QUIET_ITEMS = {
    "reasoning",
    "ghost_snapshot",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "other",
}
QUIET_EVENTS = {
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "error",
    "exec_command_begin",
    "guardian_assessment",
    "image_generation_end",
    "mcp_tool_call_begin",
    "patch_apply_begin",
    "plan_update",
    "sub_agent_activity",
    "thread_goal_updated",
    "thread_settings_applied",
    "token_count",
    "turn_diff",
    "undo_completed",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
}
