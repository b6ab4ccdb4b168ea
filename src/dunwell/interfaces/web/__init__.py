"""The web toolkit that the portal and the debtor's pages share.

application, site (base classes of an interface), requests, form_fields, responses, problems (error
pages), assets, templates, languages, formats, amounts, forms, condition_form
"""
