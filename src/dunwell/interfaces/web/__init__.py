"""The web toolkit of the portal and the debtor pages.

application   the pages of one interface, and its shared services
requests      a request for a page, and the choice of its language
responses     pages, redirects, files and assets
problems      the error pages for exceptions
templates     the Jinja environments
formats       amounts, days and sizes in a language
forms         forms over a document, and the fields that a browser sent
condition_form  the form of a condition
amounts       amounts as users type them
"""
