#!/usr/bin/env python3
"""What others make of the points that exemplar_accuracy chooses from: exemplar_bench.py FILE WIDTH K [HELD [SUBSAMPLE]]

FILE has little-endian floats, row by row. Prints the utility over all rows, or over the last HELD ones, which are not
chosen from, with the origin for a phantom, and the processor time of k-medoids on a subsample (FasterPAM, package
kmedoids), mini-batch k-means with its centres replaced by the nearest rows (scikit-learn), and random rows. What is not
installed is left out: pip install numpy kmedoids scikit-learn

exemplar_bench.py wide FILE writes 30,000 rows of 3,072 numbers like small images: sums of a few of 400 smooth patterns
and noise, their mean taken off, of length 1.
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


def write_wide(path, rows=30000, side=32, patterns=400):
    random = numpy.random.default_rng(0)
    waves = numpy.fft.fftfreq(side)
    damping = 1 / (0.02 + waves[:, None] ** 2 + waves[None, :] ** 2)
    noise = random.normal(size=(patterns, 3, side, side))
    smooth = numpy.fft.ifft2(numpy.fft.fft2(noise) * damping).real.reshape(patterns, -1)
    smooth /= smooth.std(1)[:, None]
    with open(path, "wb") as file:
        for _ in range(rows // 1000):
            weights = numpy.zeros((1000, patterns))
            for weight in (1.0, 0.6, 0.4):
                weights[numpy.arange(1000), random.zipf(1.3, 1000) % patterns] += weight
            points = weights @ smooth + 0.5 * random.normal(size=(1000, smooth.shape[1]))
            points -= points.mean(1)[:, None]
            points /= numpy.linalg.norm(points, axis=1)[:, None]
            points.astype("<f4").tofile(file)


def main():
    if sys.argv[1] == "wide":
        return write_wide(sys.argv[2])
    width, k = int(sys.argv[2]), int(sys.argv[3])
    held = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    subsample = int(sys.argv[5]) if len(sys.argv) > 5 else 10000
    points = numpy.fromfile(sys.argv[1], "<f4").reshape(-1, width)
    rows, measured = (points[:-held], points[-held:]) if held else (points, points)
    for choose in (k_medoids, mini_batch_k_means, random_rows):
        started = time.process_time()
        try:
            exemplars = choose(rows, k, subsample, numpy.random.default_rng(0))
        except ImportError as missing:
            print(f"{choose.__name__}: left out, {missing}")
            continue
        seconds = time.process_time() - started
        print(f"{choose.__name__}: utility {utility(measured, exemplars):.4f}, {seconds:.1f} s", flush=True)


main()
