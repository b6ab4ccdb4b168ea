"""Templates: placeholders and the facts behind them, Markdown, rendering, and checks before
publishing.

`facts`, `creditors` and `formatting` provide the values; `placeholders`, `markdown`,
`markdown_compilers` and `compiled_text` the text; `rendering`, `mail_blocks` and `sms_parts` the
message; `template_faults` and `merchant_rules` the checks.
"""
