"""What the SafePath study prints. Its figures are pictures without numbers; what it says of them in words is here."""

from typing import Final

BUS, METRO = "Bus", "Metro"
FACTS: Final = ("records", "locations", "timestamps", "longest", "mean length")
TABLE_2: Final = {BUS: (773_296, 893, 168, 121, 4.69), METRO: (847_668, 68, 168, 90, 3.22)}
# |T|: records, longest, mean length. The study's Table 2 gives Bus the mean 4.69 and its text gives it to Metro.
TABLE_3: Final = {
    BUS: {
        "35": (304_238, 21, 1.96),
        "70": (508_283, 44, 3.12),
        "105": (618_238, 70, 3.98),
        "140": (722_786, 106, 4.46),
        "168": (773_296, 121, 4.69),
    },
    METRO: {
        "35": (263_303, 16, 1.58),
        "70": (485_049, 35, 2.28),
        "105": (606_917, 51, 2.81),
        "140": (766_419, 73, 3.11),
        "168": (847_668, 90, 3.22),
    },
}
PART_FACTS: Final = ("records", "longest", "mean length")
SECONDS_IN_ALL: Final = {BUS: 27.0, METRO: 15.0}  # Figure 8, said in the text
SECONDS_AT_5: Final = {"SeqPT": 2400.0, "SafePath": 1.0}  # Figure 6 (b), height 5, said in the text
BELOW = 0.01  # Figure 5: "below 1% on both datasets"
TAXONOMY_HEIGHT, CHILDREN = 6, 2  # of all experiments after Figure 4
STOPS_LEFT, RECORDS_LEFT = 20, 200_000  # of Bus, for SeqPT
L, K = 2, 5
