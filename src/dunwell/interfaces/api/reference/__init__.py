"""The reference for merchants, built from the operations' data: the OpenAPI document, the reference
page, and the developers' guides."""
