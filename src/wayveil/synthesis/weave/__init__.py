"""From noisy blocks of counts to trips: draw many plausible ones, weight them to explain the counts, resample."""
