"""Rules that no planted fault of the embedded engine makes fire, and why.

tests/checks/test_planted.py keeps this complete: every other rule is in fault_matrix.json.
"""

FILES_OF_TOOLS = "It reads files of other tools, which no server writes."

UNPLANTED: dict[str, str] = {
    "DDB113": "It needs contexts of 8,192 tokens; the demo model has 4,096 positions.",
    "DDB129": "It needs a model of which acceptance was published.",
    "DDB130": "It reads vLLM's counts; the embedded engine writes SGLang's lines.",
    "DDB131": FILES_OF_TOOLS,
    "DDB132": FILES_OF_TOOLS,
    "DDB206": "The client is slow there, not the server.",
    "DDB207": "The number of requests is the user's choice.",
    "DDB208": "Every log has a first line after a pause, also that of a healthy server.",
    "DDB210": FILES_OF_TOOLS,
    "DDB211": FILES_OF_TOOLS,
    "DDB212": FILES_OF_TOOLS,
    "DDB213": FILES_OF_TOOLS,
    "DDB307": "The user switches tracing on, and the server does as it is told.",
    "DDB310": FILES_OF_TOOLS,
    "DDB401": "Loads that differ are the user's choice.",
    "DDB412": "It needs ten seconds of steady windows in two arms, more than a quick run has.",
    "DDB415": "A server that is launched anew does not remember: the machine drifts.",
    "DDB416": "The number of repeats is the user's choice.",
    "DDB417": "A copied file is no server's doing.",
}
