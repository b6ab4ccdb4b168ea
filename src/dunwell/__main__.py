"""`python -m dunwell` is the `dunwell` command."""

from dunwell.interfaces.cli.main import main

main()
