#include "core/linear/lanes.hpp"

#include "core/linear/row_block.hpp"

namespace btml::linear {

namespace {

// Returns how many sums are formed side by side, whose memory is bounded.
size_t lanes_of(uint64_t rows, size_t size, bool has_matrix) {
    static constexpr size_t max_lanes = 16, max_numbers = size_t{1} << 22;
    const size_t by_memory = has_matrix ? std::clamp<size_t>(max_numbers / (size * size), 2, max_lanes) : max_lanes;
    return std::clamp<size_t>(rows / (8 * block_rows), 1, by_memory);
}

std::vector<LikelihoodSums> empty_sums(size_t lanes, size_t size, bool has_matrix, MemoryBudget& budget) {
    std::vector<LikelihoodSums> sums;
    for (size_t lane = 0; lane < lanes; lane++) {
        LikelihoodSums& made = sums.emplace_back(budget);
        made.slopes = Buffer<double>(budget, made.slopes.what(), size, 0.0);
        if (has_matrix) made.matrix = Buffer<double>(budget, made.matrix.what(), size * size, 0.0);
    }
    return sums;
}

void add(Buffer<double>& to, const Buffer<double>& from) {
    for (size_t i = 0; i < to.size(); i++) to[i] += from[i];
}

// Adds lanes up in their order.
LikelihoodSums total_of(std::vector<LikelihoodSums> lanes) {
    LikelihoodSums& total = lanes[0];
    for (const LikelihoodSums& lane : std::span(lanes).subspan(1)) {
        add(total.slopes, lane.slopes);
        add(total.matrix, lane.matrix);
        total.deviance += lane.deviance;
        total.pearson += lane.pearson;
        total.largest = std::max(total.largest, lane.largest);
    }
    return std::move(total);
}

} // namespace

LikelihoodSums
sums_in_lanes(uint64_t begin, uint64_t end, size_t size, bool has_matrix, ThreadTeam& team, RunContext& context,
              const std::function<void(uint64_t begin, uint64_t end, LikelihoodSums& sums, RunContext& context)>& add) {
    const size_t lanes = lanes_of(end - begin, size, has_matrix);
    std::vector<LikelihoodSums> sums = empty_sums(lanes, size, has_matrix, context.memory());
    for_each_item(team, lanes, context, [&](size_t lane, RunContext& own) {
        add(begin + (end - begin) * lane / lanes, begin + (end - begin) * (lane + 1) / lanes, sums[lane], own);
    });
    return total_of(std::move(sums));
}

} // namespace btml::linear
