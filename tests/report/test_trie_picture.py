import xml.etree.ElementTree as ElementTree

from wayveil.report.trie_picture import trie_picture

SVG = "{http://www.w3.org/2000/svg}"


def node(stop, count, *children):
    return {"stop": stop, "count": count, "children": list(children)}


NESTED = {
    "count": 100.0,
    "children": [
        node("Alexander <Platz>", 60.0, node("b", 60.0)),
        node("c", 39.0, node("$", 39.0)),
        node("d", 1.0),
    ],
}


def bars(picture):
    root = ElementTree.fromstring(picture)
    return {
        group.find(f"{SVG}title").text: {
            k: float(v) for k, v in group.find(f"{SVG}rect").attrib.items() if k in "xyheight"
        }
        for group in root.iter(f"{SVG}g")
    }


def test_branches_are_as_high_as_their_share_and_inside_their_parents():
    drawn = bars(trie_picture(NESTED, height=1026))
    first, second = drawn["Alexander <Platz>: 60"], drawn["c: 39"]
    assert abs(first["height"] / second["height"] - 60 / 39) < 0.01
    child = drawn["Alexander <Platz> › b: 60"]
    assert child["y"] == first["y"]
    assert child["x"] > first["x"]


def test_branches_that_are_too_thin_are_counted_in_one_bar():
    drawn = bars(trie_picture(NESTED, height=640))
    assert "other beginnings: 1 more, 1 together" in drawn
    assert "d: 1" not in drawn


def test_a_wide_trie_shows_as_many_of_its_most_frequent_branches_as_can_be_read():
    wide = {"count": 5050.0, "children": [node(f"s{n}", float(n)) for n in range(100, 0, -1)]}
    drawn = bars(trie_picture(wide, height=640))
    shown = [title for title in drawn if "more" not in title]
    assert len(shown) > 20  # one level only: a line each
    deep = {
        "count": 5050.0,
        "children": [node(f"s{n}", n, node("a", n, node("b", n))) for n in range(100, 0, -1)],
    }
    below = bars(trie_picture(deep, height=640))
    assert "s100 › a › b: 100" in below
    assert "s95 › a › b: 95" in below
    assert shown[0] == "s100: 100"
    assert min(bar["height"] for bar in drawn.values()) >= 12
    assert sum(bar["height"] for bar in drawn.values()) < 640


def test_the_picture_stands_alone():
    picture = trie_picture(NESTED, title="a & b")
    assert "<script" not in picture
    assert "a &amp; b" in picture


def test_an_empty_trie_says_so():
    assert "nothing stood out" in trie_picture({"count": 0.0, "children": []})
