#!/usr/bin/env python3
"""What others make of the points that exemplar_accuracy chooses from: exemplar_bench.py FILE WIDTH K [SUBSAMPLE]

FILE has little-endian floats, row by row. Prints the utility over all rows, the origin for a phantom, and the processor
time of k-medoids on a subsample (FasterPAM, package kmedoids), mini-batch k-means with its centres replaced by the
nearest rows (scikit-learn), and random rows.
"""
import sys
import time

import numpy


def squared_distances(a, b):
    return numpy.maximum((a * a).sum(1)[:, None] - 2 * a @ b.T + (b * b).sum(1)[None, :], 0)


def utility(points, exemplars):
    origin = (points * points).sum(1)
    nearest = numpy.concatenate([squared_distances(part, exemplars).min(1) for part in numpy.array_split(points, 60)])
    return (origin - numpy.minimum(nearest, origin)).mean()


def k_medoids(points, k, subsample, random):
    import kmedoids
    some = points[random.choice(len(points), subsample, replace=False)]
    return some[kmedoids.fasterpam(squared_distances(some, some), k, random_state=0, n_cpu=1).medoids]


def mini_batch_k_means(points, k, _subsample, _random):
    from sklearn.cluster import MiniBatchKMeans
    centres = MiniBatchKMeans(k, batch_size=1024, n_init=1, random_state=0).fit(points).cluster_centers_
    return points[[((points - centre) ** 2).sum(1).argmin() for centre in centres]]


def random_rows(points, k, _subsample, random):
    return points[random.choice(len(points), k, replace=False)]


def main():
    width, k = int(sys.argv[2]), int(sys.argv[3])
    subsample = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
    points = numpy.fromfile(sys.argv[1], "<f4").reshape(-1, width).astype(float)
    for choose in (k_medoids, mini_batch_k_means, random_rows):
        started = time.process_time()
        exemplars = choose(points, k, subsample, numpy.random.default_rng(0))
        seconds = time.process_time() - started
        print(f"{choose.__name__}: utility {utility(points, exemplars):.4f}, {seconds:.1f} s", flush=True)


main()
