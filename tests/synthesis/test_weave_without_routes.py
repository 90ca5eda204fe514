from utility.utility_worlds import square_city, walks
from wayveil.mechanisms.weave import Weave
from weave_city import QUICK, measured


def test_a_network_that_knows_no_lines_is_woven_too():
    raw = walks(square_city(4, routes=False), 1_500, seed=1)
    model, _ = measured(Weave(weakest=0, generation=QUICK), raw)
    assert len(model.generate(0)) == model.total > 1_000
