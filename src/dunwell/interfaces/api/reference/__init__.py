"""The reference for merchants: an OpenAPI document and a page, made of the operations' data."""
