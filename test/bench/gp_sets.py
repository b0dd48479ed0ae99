"""Writes sets for gp_accuracy and uncertainty_bench.py: python3 test/bench/gp_sets.py DIRECTORY

No default was settled on these. Generated are

friedman: Friedman's first function of five of ten uniform numbers, with noise of variance 1 (Friedman: Multivariate
Adaptive Regression Splines, 1991). skewed: sums and products of functions of lognormal and exponential numbers. wide:
forty numbers, half of them correlated. houses: prices by three numbers of a house and three of its place, beside sixteen
that say nothing.

and salaries are the logarithms of what baseball players earned, test/data/baseball's: by year, team, season of the player,
bats, country, year of birth, height and weight.
"""
import csv
import gzip
import math
import pathlib
import random
import sys


def friedman(r):
    x = [r.random() for _ in range(10)]
    y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4] + r.gauss(0, 1)
    return x + [y]


def skewed(r):
    x = [math.exp(r.gauss(0, 1)) for _ in range(3)] + [r.expovariate(1) for _ in range(3)] + [r.random() for _ in range(2)]
    y = (math.log1p(x[0]) + math.sin(2 * x[1]) / (1 + x[1]) + math.sqrt(x[3]) + 0.5 * math.log1p(x[0]) * math.sqrt(x[4])
         + (x[6] > 0.5) * math.tanh(x[2]) - x[7] * math.log1p(x[5]) + r.gauss(0, 0.15))
    return x + [y]


def wide(r):
    z = [r.gauss(0, 1) for _ in range(5)]
    x = [r.random() for _ in range(20)] + [z[k % 5] + 0.3 * r.gauss(0, 1) for k in range(20)]
    y = (10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4] + 3 * z[0] * z[1]
         + 4 * math.tanh(z[2]) + 2 * sum(x[5:15]) + r.gauss(0, 1))
    return x + [y]


def houses(r, rows=12000, places=1000):
    place = [[10000 + 90000 * r.random(), 1000 * r.random(), 100 * r.random(), r.randint(1, 10), r.randint(1, 20),
              r.randint(1, 20), 100 * r.random()] for _ in range(places)]
    for _ in range(rows):
        at = r.choice(place)
        area, bedrooms, garden = 10 + 190 * r.random(), r.randint(1, 10), 10000 * r.random()
        house = [area, bedrooms, r.randint(1, 10), 50 * r.random(), garden, r.randrange(10)]
        near = [r.randint(8, 24), r.randrange(3), r.randrange(2), r.randrange(2), r.randrange(2), r.randint(8, 24),
                r.randrange(3), r.randint(1, 12), r.randint(1, 100)]
        price = (50 * area * (1 + 0.3 * garden / 10000) + 0.8 * at[0] - 1500 * at[6] + 8000 * bedrooms - 40 * at[1]
                 + 20000 * (r.random() - 0.5) + 300000)
        yield house + near + at + [price]


def salaries():
    folder = pathlib.Path(__file__).parent.parent / "data" / "baseball"

    def table(name):
        with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
            return list(csv.DictReader(file))

    def code(value, codes):
        return codes.setdefault(value, len(codes))
    people = {row["playerid"]: row for row in table("people")}
    teams, hands, countries = {}, {}, {}
    for row in table("salaries"):
        player = people[row["playerid"]]
        known = all(player[name] for name in ("birthyear", "height", "weight", "debut"))
        if known and int(row["salary"]) > 0:
            year = int(row["yearid"])
            yield [year, code(row["teamid"], teams), year - int(player["debut"][:4]), code(player["bats"], hands),
                   code(player["birthcountry"], countries), int(player["birthyear"]), int(player["height"]),
                   int(player["weight"]), math.log(int(row["salary"]))]


def write(directory, name, rows):
    with gzip.open(f"{directory}/{name}.csv.gz", "wt") as file:
        for row in rows:
            file.write(",".join("%.7g" % value for value in row) + "\n")


def rows_of(row, rows, seed):
    r = random.Random(seed)
    return (row(r) for _ in range(rows))


for row, rows, seed in ((friedman, 10000, 1), (skewed, 10000, 3), (wide, 4000, 4)):
    write(sys.argv[1], row.__name__, rows_of(row, rows, seed))
write(sys.argv[1], "houses", houses(random.Random(5)))
write(sys.argv[1], "salaries", salaries())
