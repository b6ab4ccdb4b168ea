"""`python -m dunwell` is the `dunwell` command."""

from dunwell.cli.main import main

main()
