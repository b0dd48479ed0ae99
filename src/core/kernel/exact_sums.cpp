#include "core/kernel/query_groups.hpp"

#include <algorithm>
#include <numeric>

namespace btml::kernel {

namespace {

constexpr size_t cached_bytes = size_t{1} << 19; // of packed keys
constexpr size_t work_of_item = 200'000'000;     // pairs times coordinates, the kernel being worth some: milliseconds
constexpr size_t work_of_kernel = 14;

} // namespace

Buffer<double> exact_sums(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context) {
    const size_t columns = keys.columns(), rows = queries.rows(), dimensions = queries.dimensions();
    const size_t groups = (rows + QueryGroup::max_queries - 1) / QueryGroup::max_queries;
    const size_t cached = std::max<size_t>(1, cached_bytes / (block_keys * sizeof(float) * dimensions));
    // Queries are brought into the frame once for many blocks.
    const size_t blocks =
        std::max(cached, work_of_item / (QueryGroup::max_queries * block_keys * (dimensions + work_of_kernel)) /
                             cached * cached);
    Buffer<double> sums(context.memory(), "sums of queries", rows * columns, 0.0);
    std::vector<QueryGroup> workers = QueryGroup::of_team(team, keys.distinct.frame, columns, context.memory());
    for (size_t first = 0; first < keys.blocks.blocks(); first += blocks) {
        const size_t last = std::min(keys.blocks.blocks(), first + blocks);
        team.for_each(groups, [&](size_t item, int thread) {
            if (thread == 0)
                context.share_progress("sums of a kernel", first * groups + item * (last - first),
                                       keys.blocks.blocks() * groups);
            QueryGroup& group = workers[thread];
            uint32_t of_group[QueryGroup::max_queries];
            const size_t begin = item * QueryGroup::max_queries,
                         count = std::min(rows - begin, QueryGroup::max_queries);
            std::iota(of_group, of_group + count, begin);
            group.load(queries, {of_group, count});
            for (size_t part = first; part < last; part += cached)
                group.add_blocks(keys.blocks, keys.values, part, std::min(last, part + cached));
            for (size_t i = 0; i < count; i++)
                for (size_t c = 0; c < columns; c++)
                    sums[(begin + i) * columns + c] += group.sum(i, c) * keys.values.scale(c);
        });
    }
    return sums;
}

} // namespace btml::kernel
