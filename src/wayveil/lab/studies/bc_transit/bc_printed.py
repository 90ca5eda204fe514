"""What the BC Transit study prints. Curves are pictures; the numbers that its text and tables give are here."""

from typing import Final

NPT, NPT_EQUAL, PPDP, COUNTS = "NPT", "NPT, equal repair", "PPDP", "tap counts"
PPDP_PRESET = "PPDP, preset published"  # decreasing thresholds; the study names no values
# What the study may have done instead of what it says: noise on prefixes that occur, and none on the others. Its text
# has a threshold of 2.83 noise scales of a level, its table 5.1 one of 2.83 / epsilon.
NPT_SEEN = "NPT, observed prefixes only (not private)"
NPT_SEEN_LOW = "NPT, observed prefixes only, threshold 2.83 / epsilon (not private)"
PPDP_SEEN = "PPDP, observed prefixes only (not private)"
SEEN: Final = (NPT_SEEN, NPT_SEEN_LOW, PPDP_SEEN)
EPSILONS: Final = ("0.5", "0.75", "1", "1.25", "1.5", "1.75", "2")
HEIGHTS: Final = ("3", "6", "9", "12", "15")
STUDY_HEIGHT = "9"
TAPS, GAP_ROWS, NAMELESS_ROWS = 312_659, 1_833, 1_010
ROLE_SHARES: Final = {"full-time": 20, "part-time": 8, "student": 6, "self-employed": 17, "other": 49}
# Average relative error in %, up to 9 stops, at epsilon 0.5 and 2.
QUERIES: Final = {NPT: (4.94, 4.15), PPDP: (2.61, 1.66)}
PER_STOP: Final = {NPT: (3.71, 3.11), PPDP: (2.09, 1.25)}
TOTAL_BELOW = 1.0
STRICTEST: Final = {NPT: 6.0, PPDP: 3.0}  # below, at epsilon 0.5 with up to 3 stops
BEST_HEIGHT: Final = {NPT: 9, PPDP: 12}
# Share of the true top k found, in %.
TABLE_6_1: Final = {
    "20": {NPT: 85.0, PPDP: 95.0},
    "30": {NPT: 83.33, PPDP: 86.66},
    "40": {NPT: 80.0, PPDP: 85.0},
    "50": {NPT: 72.0, PPDP: 72.0},
}
TABLE_6_2: Final = {
    "0.5": {NPT: 75.0, PPDP: 80.0},
    "0.75": {NPT: 77.5, PPDP: 80.0},
    "1": {NPT: 77.5, PPDP: 82.5},
    "1.25": {NPT: 80.0, PPDP: 85.0},
    "1.5": {NPT: 82.5, PPDP: 85.0},
}
TABLE_6_3: Final = {
    "30": {NPT: 83.33, PPDP: 86.66},
    "40": {NPT: 80.0, PPDP: 85.0},
    "50": {NPT: 74.0, PPDP: 76.0},
}
TOPS: Final = (20, 30, 40, 50)
PEAKS = "07:00,09:00,15:00,18:00"  # morning peak, midday, evening peak, and the night before and after
