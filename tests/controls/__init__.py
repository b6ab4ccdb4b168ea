"""Control tests: each plants a fault and checks that the tests of a promise fail."""
