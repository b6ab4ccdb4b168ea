"""Tests with real servers of the delivery channels. Each test starts and stops its servers."""
