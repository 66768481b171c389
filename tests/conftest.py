"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# However busy the machine is: no example fails for the time that it takes.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
