"""Jobs that compute what a draft does to running claims."""
