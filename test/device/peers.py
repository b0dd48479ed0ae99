"""Prints the times of device_bench beside those of peers on the same device: peers.py LINES_OF_DEVICE_BENCH

Peers: KeOps (pip install pykeops), PyTorch by tiles of products of matrices as FAISS searches by brute force, PyTorch's
attention in float32 and sums and forms in float64, and one evaluation of the bound of GPyTorch's sparse process (pip
install gpytorch). Their data is on the device already and their results stay there; btml's cross the bus. Each runs in
a process of its own; what is not installed, or fails, is left out, which is said.
"""

import struct
import subprocess
import sys
import time

TRIES = 3


def min_seconds(body):
    import torch

    body()
    least = float("inf")
    for _ in range(TRIES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        body()
        torch.cuda.synchronize()
        least = min(least, time.perf_counter() - start)
    return least


def normal(rows, columns, seed, double=False):
    import torch

    generator = torch.Generator(device="cuda").manual_seed(seed)
    dtype = torch.float64 if double else torch.float32
    return torch.randn(rows, columns, device="cuda", dtype=dtype, generator=generator)


def let_nvcc_compile_keops():
    """Has nvcc compile what KeOps 2.3 generates: NVRTC of CUDA 13 crashes on it."""
    from keopscore.binders.nvrtc.Gpu_link_compile import Gpu_link_compile

    def generate_code(self):
        self.get_code()
        self.write_code()
        target = self.low_level_code_file.decode()
        with open(target + ".cu", "w") as source:
            source.write(self.code)
        kind = "-cubin" if "cubin_" in target else "-ptx"
        fast = ["-use_fast_math"] if self.use_fast_math else []
        subprocess.run(["nvcc", "-arch=native", kind, *fast, "-o", target + ".out", target + ".cu"], check=True)
        with open(target + ".out", "rb") as compiled, open(target, "wb") as to:
            code = compiled.read()
            to.write(struct.pack("N", len(code)) + code)
        self.tagI, self.dim = self.red_formula.tagI, self.red_formula.dim

    Gpu_link_compile.generate_code = generate_code


def keops_pairs(kernel, queries, keys):
    difference = queries - keys
    if kernel == "gaussian":
        return (-(difference**2).sum(-1) / 2).exp()
    if kernel == "laplacian":
        return (-difference.abs().sum(-1)).exp()
    r = (5 * (difference**2).sum(-1)).sqrt()
    return (1 + r + r * r / 3) * (-r).exp()


def keops(kernel, rows, dimensions, columns):
    import torch
    from pykeops.torch import LazyTensor

    let_nvcc_compile_keops()
    queries, keys = (normal(rows, dimensions, seed) / dimensions**0.5 for seed in (1, 2))
    ones = torch.ones(rows, 1, device="cuda")
    pairs = keops_pairs(kernel, LazyTensor(queries[:, None, :]), LazyTensor(keys[None, :, :]))
    return min_seconds(lambda: pairs @ ones)


def matrix_products(kernel, rows, dimensions, columns, tile=16_384):
    import torch

    if kernel == "laplacian":
        raise ValueError("no product of matrices gives its distances")
    queries, keys = (normal(rows, dimensions, seed) / dimensions**0.5 for seed in (1, 2))
    of_queries, of_keys = (queries**2).sum(1, keepdim=True), (keys**2).sum(1)
    ones = torch.ones(rows, 1, device="cuda")

    def run():
        sums = torch.zeros(rows, 1, device="cuda")
        for i in range(0, rows, tile):
            for j in range(0, rows, tile):
                square = torch.addmm(of_keys[j : j + tile], queries[i : i + tile], keys[j : j + tile].T, alpha=-2)
                square.add_(of_queries[i : i + tile]).clamp_(min=0)
                if kernel == "gaussian":
                    pairs = square.mul_(-0.5).exp_()
                else:
                    r = square.mul_(5).sqrt_()
                    pairs = (1 + r + r * r / 3) * (-r).exp()
                sums[i : i + tile] += pairs @ ones[j : j + tile]
        return sums

    return min_seconds(run)


def attention(case, rows, dimensions, columns):
    import torch

    queries, keys, values = (normal(rows, dimensions, seed)[None, None] for seed in (1, 2, 3))
    return min_seconds(lambda: torch.nn.functional.scaled_dot_product_attention(queries, keys, values))


def double_moments(case, rows, dimensions, count, tile=65_536):
    import torch

    points, inducing = (normal(n, dimensions, 1, double=True) / dimensions**0.5 for n in (rows, count))
    targets, factor = normal(rows, 1, 2, double=True), torch.eye(count, device="cuda", dtype=torch.float64)

    def run():
        products, projections = 0, 0
        for i in range(0, rows, tile):
            k = torch.exp(-0.5 * torch.cdist(inducing, points[i : i + tile]) ** 2)
            v = torch.linalg.solve_triangular(factor, k, upper=False)
            products, projections = products + v @ v.T, projections + v @ targets[i : i + tile]
        return products, projections

    return min_seconds(run)


def double_forms(case, rows, dimensions, count, tile=65_536):
    import torch

    points, inducing = (normal(n, dimensions, 1, double=True) / dimensions**0.5 for n in (rows, count))
    solution, matrix = normal(count, 1, 2, double=True), torch.eye(count, device="cuda", dtype=torch.float64)

    def run():
        found = []
        for i in range(0, rows, tile):
            k = torch.exp(-0.5 * torch.cdist(points[i : i + tile], inducing) ** 2)
            found.append((k @ solution, *(((k @ m) * k).sum(1) for m in (matrix, matrix))))
        return found

    return min_seconds(run)


def gpytorch_bound(case, rows, dimensions, count):
    import gpytorch
    import torch

    points, targets = normal(rows, dimensions, 1), normal(rows, 1, 2)[:, 0]

    class Sparse(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(points, targets, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=dimensions))
            self.covar_module = gpytorch.kernels.InducingPointKernel(kernel, points[:count].clone(), likelihood)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Sparse(likelihood).cuda().train()
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def run():
        with torch.no_grad():
            return bound(model(points), targets).item()

    return min_seconds(run)


SUMS = {"KeOps": keops, "matrix products": matrix_products}
PEERS = {
    "gaussian": SUMS,
    "laplacian": SUMS,
    "matern52": SUMS,
    "attention": {"PyTorch": attention},
    "moments": {"PyTorch, float64": double_moments, "GPyTorch, float32": gpytorch_bound},
    "forms": {"PyTorch, float64": double_forms},
}


def seconds_of_peer(case, peer, *sizes):
    """Returns the peer's seconds, or the last line that it printed before it failed."""
    command = [sys.executable, __file__, case, peer, *sizes]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines() or [""]
    if done.returncode == 0:
        return float(done.stdout.splitlines()[-1])
    return f"left out: exit status {done.returncode}, {lines[-1][:150]}"


def main(lines):
    print("| case | rows | dimensions | columns | ready s | s | TFLOP/s | peer | s | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in lines:
        case, rows, dimensions, columns, ready, seconds, flops = line.split()
        ours = (
            f"| {case} | {int(rows):,} | {dimensions} | {columns} | {float(ready):.2f} | {float(seconds):.4f} "
            f"| {float(flops) / float(seconds) / 1e12:.1f} |"
        )
        peers = PEERS.get(case, {})
        if not peers:
            print(f"{ours} | | |", flush=True)
        for peer in peers:
            theirs = seconds_of_peer(case, peer, rows, dimensions, columns)
            if isinstance(theirs, str):
                print(f"{ours} {peer} | {theirs} | |", flush=True)
            else:
                print(f"{ours} {peer} | {theirs:.4f} | {theirs / float(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        with open(sys.argv[1]) as lines:
            main(list(lines))
    else:
        case, peer, *sizes = sys.argv[1:]
        print(PEERS[case][peer](case, *map(int, sizes)))
