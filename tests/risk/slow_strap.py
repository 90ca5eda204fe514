"""STRAP read in plain Python: dictionaries, lists and loops; nothing of the package but the rule of its draws."""

import hashlib
import itertools
from math import cos, floor, hypot, log2, pi, radians

MASK = (1 << 64) - 1
EARTH = 6_371_008.8
SWEEPS, UNUSED = 10, 5


def mixed(word):
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def key_of(label, seed):
    return int.from_bytes(hashlib.sha256(f"{label} {seed}".encode()).digest()[:8], "little")


def unit(word):
    return (word >> 11) * 2.0**-53


def distance(x, y):
    table = {}
    for i in range(len(x)):
        for j in range(len(y)):
            before = [table[p] for p in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p in table]
            gap = hypot(x[i][0] - y[j][0], x[i][1] - y[j][1])
            table[i, j] = gap + (min(before) if before else 0.0)
    return table[len(x) - 1, len(y) - 1] / max(len(x), len(y))


class SlowStrap:
    """Raw trips (in canonical order) and riders 0, 1, ... of each trip."""

    def __init__(self, network, raw, rider, cell, p, near, seed):
        self.network, self.raw, self.rider = network, [trip for trip in raw if trip], rider
        self.cell, self.p, self.near, self.seed = cell, p, near, seed
        lat0, lon0 = sum(network.lat) / network.size, sum(network.lon) / network.size
        scale = EARTH * pi / 180
        east = [(lon - lon0) * scale * cos(radians(lat0)) for lon in network.lon]
        north = [(lat - lat0) * scale for lat in network.lat]
        self.at = [(e - min(east), n - min(north)) for e, n in zip(east, north, strict=True)]
        self.cell_of = [(floor(n / cell), floor(e / cell)) for e, n in self.at]
        self.diameter = hypot(max(e for e, _ in self.at), max(n for _, n in self.at))
        self.find_junctions()
        self.moves = self.public_moves()
        self.segments = [s for t, trip in enumerate(self.raw) for s in self.cut(trip, t)]
        self.fill_in()

    def find_junctions(self):
        riders, neighbours, ends = {}, {}, set()
        for trip, rider in zip(self.raw, self.rider, strict=True):
            cells = [self.cell_of[v] for v in trip]
            ends |= {cells[0], cells[-1]}
            for c in cells:
                riders.setdefault(c, set()).add(rider)
            for a, b in itertools.pairwise(cells):
                if a != b:
                    neighbours.setdefault(a, set()).add(b)
                    neighbours.setdefault(b, set()).add(a)
        found = ends | {c for c in riders if len(riders[c]) >= 2 and len(neighbours.get(c, ())) >= 3}
        self.junctions = sorted(found)  # row by row, as the cells are numbered

    def junction(self, cell):
        """The junction itself, or the nearest one."""
        return min(
            range(len(self.junctions)),
            key=lambda j: (self.junctions[j][0] - cell[0]) ** 2 + (self.junctions[j][1] - cell[1]) ** 2,
        )

    def public_moves(self):
        graph = {}
        for source in range(self.network.size):
            for target in self.followers(source):
                a, b = self.cell_of[source], self.cell_of[target]
                if a != b:
                    graph.setdefault(a, set()).add(b)
        moves = []
        for start in self.junctions:
            reached, stack, seen = set(), [start], set()
            while stack:
                for there in graph.get(stack.pop(), ()):
                    if there in seen:
                        continue
                    seen.add(there)
                    if there in self.junctions:
                        reached.add(self.junctions.index(there))
                    else:
                        stack.append(there)
            moves.append(sorted(reached))
        return moves

    def followers(self, stop):
        return self.network.indices[self.network.indptr[stop] : self.network.indptr[stop + 1]]

    def cut(self, trip, number):
        """(trip, first position, visits, source, target, whether it ends outside all junctions)."""
        cells = [self.cell_of[v] for v in trip]
        cuts = [0] + [
            i for i in range(1, len(trip)) if cells[i] in self.junctions and cells[i] != cells[i - 1]
        ]
        pieces = [(a, b + 1) for a, b in itertools.pairwise(cuts)]
        if len(cuts) > 1 and all(cell == cells[cuts[-1]] for cell in cells[cuts[-1] :]):
            pieces[-1] = (pieces[-1][0], len(trip))
        else:
            pieces.append((cuts[-1], len(trip)))
        return [
            (
                number,
                a,
                tuple(trip[a:b]),
                self.junction(cells[a]),
                self.junction(cells[b - 1]),
                cells[b - 1] not in self.junctions,
            )
            for a, b in pieces
        ]

    def fill_in(self):
        first_visit, position = [], 0
        for trip in self.raw:
            first_visit.append(position)
            position += len(trip)
        key = key_of("known visits", self.seed)
        known = [unit(mixed(key ^ v)) < self.p for v in range(position)]
        self.knows_previous, self.profile = [], {}
        for i, (t, _start, *_) in enumerate(self.segments):
            before = self.segments[i - 1] if i and self.segments[i - 1][0] == t else None
            self.knows_previous.append(before is not None and known[first_visit[t] + before[1]])
        for rider in sorted(set(self.rider)):
            states = []  # [state, known, begins a trip]
            for t in (t for t in range(len(self.raw)) if self.rider[t] == rider):
                mine = [s for s in self.segments if s[0] == t]
                states += [[s[3], known[first_visit[t] + s[1]], s is mine[0]] for s in mine]
                states.append([mine[-1][4], known[first_visit[t] + len(self.raw[t]) - 1], False])
            self.profile[rider] = self.sample(rider, states)

    def sample(self, rider, states):
        seen = {}
        for a, b in itertools.pairwise(states):
            if not b[2] and a[1] and b[1]:
                seen[a[0], b[0]] = seen.get((a[0], b[0]), 0) + 1

        def belief(a, b):
            return seen.get((a, b), 0) + (b in self.moves[a])

        size, counts = len(self.junctions), {}
        word = mixed(key_of("filling in", self.seed) ^ rider)
        for sweep in range(SWEEPS + 1):
            for i, (state, known, begins) in enumerate(states):
                word = mixed(word)
                if known:
                    continue
                before = None if begins else states[i - 1][0]
                after = None
                if i + 1 < len(states) and not states[i + 1][2] and (sweep or states[i + 1][1]):
                    after = states[i + 1][0]
                if before is not None:
                    candidates = self.moves[before]
                elif after is not None:
                    candidates = [j for j in range(size) if after in self.moves[j]]
                else:
                    candidates = list(range(size))
                weights = [1.0 if before is None else belief(before, c) for c in candidates]
                if after is not None:
                    both = [w * belief(c, after) for w, c in zip(weights, candidates, strict=True)]
                    weights = both if sum(both) > 0 else weights
                if not candidates:
                    states[i][0] = min(int(unit(word) * size), size - 1) if sweep == 0 else state
                    continue
                aim, reached = unit(word) * sum(weights), 0.0
                for c, w in zip(candidates, weights, strict=True):
                    reached += w
                    if aim < reached:
                        states[i][0] = c
                        break
            if sweep > UNUSED:
                for a, b in itertools.pairwise(states):
                    if not b[2]:
                        counts[a[0], b[0]] = counts.get((a[0], b[0]), 0) + 1
        return counts

    def belief_row(self, rider, x):
        row = {b: n for (a, b), n in self.profile[rider].items() if a == x}
        total = sum(row.values())
        row = {b: n / total for b, n in row.items()}
        if len(self.junctions) == 1:
            return row, 0.0
        if not row:
            return row, 1.0
        return row, -sum(q * log2(q) for q in row.values()) / log2(len(self.junctions))

    def points(self, visits):
        return [self.at[v] for v in visits]

    def release(self, released):
        segments = [s for t, trip in enumerate(released) for s in self.cut(trip, t)]
        first, second = {}, {}
        for i, s in enumerate(segments):
            first.setdefault(s[3], []).append(s[4])
            if i and segments[i - 1][0] == s[0]:
                second.setdefault((segments[i - 1][3], s[3]), []).append(s[4])
        return segments, first, second

    def neighbours(self):
        whole = {
            r: [
                self.at[v] for trip, mine in zip(self.raw, self.rider, strict=True) if mine == r for v in trip
            ]
            for r in sorted(set(self.rider))
        }
        return {a: [b for b in whole if a != b and distance(whole[a], whole[b]) < self.near] for a in whole}

    def literal(self, released):
        segments, first, second = self.release(released)
        per_rider = {r: [] for r in set(self.rider)}
        for i, (t, _, visits, x, _, _) in enumerate(self.segments):
            rider = self.rider[t]
            row, doubt = self.belief_row(rider, x)
            previous = self.segments[i - 1][3] if i and self.segments[i - 1][0] == t else None
            out = first.get(x, []) if previous is None else second.get((previous, x), [])
            here, total = self.cell_of[visits[0]], 0.0
            for _, _, theirs, _, z, outside in segments:
                there = self.cell_of[theirs[0]]
                if outside or max(abs(here[0] - there[0]), abs(here[1] - there[1])) > 1:
                    continue
                w = (1 - doubt) * row.get(z, 0) + doubt * (out.count(z) / len(out) if out else 0)
                total += w * distance(self.points(visits), self.points(theirs))
            per_rider[rider].append(total)
        count = {r: len(n) for r, n in self.neighbours().items()}
        whole = sum(count.values())
        values = {}
        for rider, metres in per_rider.items():
            matched = sum(m > 0 for m in metres)
            mean = sum(metres) / matched if matched else 0.0
            values[rider] = mean * count[rider] / whole if whole else 0.0
        return values

    def repaired(self, released):
        segments, first, second = self.release([trip for trip in released if len(set(trip)) > 1])
        different = {visits: z for _, _, visits, _, z, _ in segments}
        ends = {s[4] for s in segments}
        per_rider, self.widened, self.weightless = {r: [] for r in set(self.rider)}, 0, 0
        for i, (t, _, visits, x, _, _) in enumerate(self.segments):
            rider = self.rider[t]
            per_rider[rider].append(
                self.expected(i, visits, x, rider, different, first, second, ends)
                if segments
                else self.diameter
            )
        count = {r: 1 + len(n) for r, n in self.neighbours().items()}
        whole = sum(count.values())
        return {r: sum(m) / len(m) * count[r] / whole for r, m in per_rider.items()}

    def expected(self, i, visits, x, rider, different, first, second, ends):
        row, doubt = self.belief_row(rider, x)
        out = second.get((self.segments[i - 1][3], x)) if self.knows_previous[i] else None
        out = out or first.get(x)
        here, ring, groups = self.cell_of[visits[0]], 0, {}
        while not groups:
            ring += 1
            for theirs, z in different.items():
                there = self.cell_of[theirs[0]]
                if max(abs(here[0] - there[0]), abs(here[1] - there[1])) <= ring:
                    groups.setdefault(z, []).append(distance(self.points(visits), self.points(theirs)))
        self.widened += ring > 1
        means = {z: sum(d) / len(d) for z, d in groups.items()}
        w = {
            z: (1 - doubt) * row.get(z, 0) + doubt * (out.count(z) / len(out) if out else 1 / len(ends))
            for z in means
        }
        if sum(w.values()) > 0:
            return sum(w[z] * means[z] for z in means) / sum(w.values())
        self.weightless += 1
        return sum(means.values()) / len(means)
