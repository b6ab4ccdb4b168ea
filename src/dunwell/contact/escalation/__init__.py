"""The escalation engine.

`schedule` decides the next steps; `calendars`, `prepared_workflow`, `due_claim` and
`usable_channels` provide its facts; `engine` runs due claims; `end_claim` and `change_attachments`
are use cases. `forecast` simulates a claim, `contacts` sends its contacts (`statement_age` limits
when), `reports` processes delivery reports.
"""
