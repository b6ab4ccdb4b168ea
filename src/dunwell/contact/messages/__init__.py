"""Templates, rendering, links and the port to channels: what is said and how it leaves."""
