"""Tests that must fail: each plants a fault and sees the promise's own tests notice it."""
