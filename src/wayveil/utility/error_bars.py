"""Moved to `wayveil.releases.error_bars`."""

from wayveil.releases.error_bars import ErrorBars as ErrorBars
from wayveil.releases.error_bars import Spread as Spread
