#include "core/kernel/sums_memory.hpp"

#include "core/kernel/query_group.hpp"

#include <algorithm>

namespace btml::kernel {

namespace {

constexpr uint64_t number = sizeof(double), index = sizeof(uint32_t), single = sizeof(float);
constexpr uint64_t hashed = 16, projected = 16, drawn = 16; // a key in a merge, in a tree being built, in a sample
constexpr uint64_t of_pilot = 3 * number + 2 * number; // a query and a leaf in the pilot: distances, squares, entry

uint64_t leaves_of(uint64_t keys) {
    return keys / block_keys + 1;
}

uint64_t bytes_of_values(uint64_t keys, uint64_t columns) {
    return leaves_of(keys) * block_keys * single * columns;
}

// A direction for each node of a tree.
uint64_t bytes_of_tree(uint64_t keys, uint64_t dimensions) {
    return index * keys + 2 * leaves_of(keys) * number * dimensions;
}

uint64_t squares_of(const SumSizes& sizes) {
    return sizes.means ? sizes.columns + 1 : 1;
}

uint64_t bytes_of_workers(const SumSizes& sizes, uint64_t columns) {
    return sizes.threads * QueryGroup::bytes(sizes.dimensions, columns);
}

uint64_t bytes_of_results(const SumSizes& sizes) {
    return sizes.queries * (number * (sizes.columns + 1) + index + 1);
}

} // namespace

uint64_t bytes_to_prepare(const SumSizes& sizes) {
    const uint64_t n = sizes.keys, given = number * n * (sizes.dimensions + sizes.columns);
    const uint64_t merging = (hashed + index) * n + given;
    const uint64_t prepared = given + bytes_of_tree(n, sizes.dimensions) + projected * n +
                              KeyBlocks::bytes(n, sizes.dimensions) + bytes_of_values(n, sizes.columns);
    return std::max(merging, prepared - given); // the points given are free by then
}

uint64_t bytes_to_sum_exactly(const SumSizes& sizes) {
    return bytes_of_results(sizes) + number * sizes.queries * sizes.columns + bytes_of_workers(sizes, sizes.columns);
}

uint64_t bytes_to_sample(const SumSizes& sizes) {
    const uint64_t n = sizes.keys, m = sizes.queries, d = sizes.dimensions, c = sizes.columns, s = squares_of(sizes),
                   leaves = leaves_of(n), groups = m / QueryGroup::max_queries + leaves;
    const uint64_t grouped = 2 * index * m + number * d * groups + KeyBlocks::bytes(n / 16, d) + n + n / 4;
    const uint64_t pilot = QueryGroup::max_queries * (of_pilot * leaves + number * (2 * d + c)) +
                           bytes_of_values(n, s) + bytes_of_workers(sizes, s);
    const uint64_t sample = (drawn + 4 * index) * n + KeyBlocks::bytes(n, d) + bytes_of_values(n, c + s);
    const uint64_t sums =
        number * (m * (2 * c + s + 1) + s * (leaves + groups)) + groups * leaves / 8 + bytes_of_workers(sizes, c + s);
    return grouped + std::max(pilot, sample + sums + bytes_of_results(sizes));
}

} // namespace btml::kernel
