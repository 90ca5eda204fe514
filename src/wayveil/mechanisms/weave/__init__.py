"""Weave: from noisy blocks of counts to trips. Draw many plausible ones, weight them to explain the counts, resample.

Where to begin: `weave` says what is asked (with `shares`, `resolution`, `repeated_questions`), `measurements` holds
what was bought, `weaving` makes trips of it, `settings` has every constant.

on_network   the algorithm on a network      network_demand, routes, routed_support
             on a grid, also                 grid_demand, drive_lengths, driven_support
on_list      the algorithm on a plain list   list_demand, visit_lengths, move_table, move_chain, repeating_walks,
                                             walked_support, shrinkage
both         what they share                 cell_estimates, demand, support, support_fit, weight_fit,
                                             shared_ways, descent, departure_times

`expected_error` says how far off the result will be.
"""

from wayveil.mechanisms.weave.weave import Weave

__all__ = ["Weave"]
