"""Writes generated sets for gp_accuracy, on which no default was settled: python3 test/bench/gp_sets.py DIRECTORY

friedman: Friedman's first function of five of ten uniform numbers, with noise of variance 1 (Friedman: Multivariate
Adaptive Regression Splines, 1991). skewed: sums and products of functions of lognormal and exponential numbers. wide:
forty numbers, half of them correlated.
"""
import gzip
import math
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


def write(directory, row, rows, seed):
    r = random.Random(seed)
    with gzip.open(f"{directory}/{row.__name__}.csv.gz", "wt") as file:
        for _ in range(rows):
            file.write(",".join("%.7g" % value for value in row(r)) + "\n")


for row, rows, seed in ((friedman, 10000, 1), (skewed, 10000, 3), (wide, 4000, 4)):
    write(sys.argv[1], row, rows, seed)
