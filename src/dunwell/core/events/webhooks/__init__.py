"""Webhook endpoints and the delivery of events to them: `endpoint` and `retry` are pure,
`delivery` is one attempt, `dispatcher` decides which endpoint is served next.
"""
