"""Real SGLang, held against ddbench's own engine with the same weights, prompts and settings."""
