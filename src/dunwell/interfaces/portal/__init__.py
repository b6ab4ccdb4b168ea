"""The portal: where operators and merchants' staff find a claim and answer what waits."""
