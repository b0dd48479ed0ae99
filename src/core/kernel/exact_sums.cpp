#include "core/kernel/exact_sums.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

namespace btml::kernel {

namespace {

constexpr size_t cached_bytes = size_t{1} << 19; // of packed keys

struct Worker {
    Worker(const KeySet& keys, MemoryBudget& budget)
        : group(keys.distinct.frame, keys.columns(), budget), queries(keys.distinct.frame, budget) {}
    QueryGroup group;
    FramedQueries queries;
};

} // namespace

std::span<const double* const> FramedQueries::load(const Points& queries, std::span<const uint32_t> rows) {
    const size_t dimensions = frame_.centre.size();
    for (size_t i = 0; i < rows.size(); i++) {
        frame_.apply(queries.row(rows[i]), rows_.data() + i * dimensions);
        pointers_[i] = rows_.data() + i * dimensions;
    }
    return {pointers_, rows.size()};
}

Buffer<double> exact_sums(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context) {
    const size_t columns = keys.columns(), rows = queries.rows(), dimensions = queries.dimensions();
    const size_t groups = (rows + QueryGroup::max_queries - 1) / QueryGroup::max_queries;
    const size_t blocks = std::max<size_t>(1, cached_bytes / (block_keys * sizeof(float) * dimensions));
    Buffer<double> sums(context.memory(), "sums of queries", rows * columns, 0.0);
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < team.size(); i++) workers.push_back(std::make_unique<Worker>(keys, context.memory()));
    for (size_t first = 0; first < keys.blocks.blocks(); first += blocks) {
        const size_t last = std::min(keys.blocks.blocks(), first + blocks);
        team.for_each(groups, [&](size_t item, int thread) {
            Worker& worker = *workers[static_cast<size_t>(thread)];
            uint32_t of_group[QueryGroup::max_queries];
            const size_t begin = item * QueryGroup::max_queries,
                         count = std::min(rows - begin, QueryGroup::max_queries);
            std::iota(of_group, of_group + count, static_cast<uint32_t>(begin));
            worker.group.load(worker.queries.load(queries, {of_group, count}));
            worker.group.add_blocks(keys.blocks, keys.values, first, last);
            for (size_t i = 0; i < count; i++)
                for (size_t c = 0; c < columns; c++)
                    sums[(begin + i) * columns + c] += worker.group.sum(i, c) * keys.values.scale(c);
        });
        context.progress("sums of a kernel", last, keys.blocks.blocks());
    }
    return sums;
}

} // namespace btml::kernel
