#include "core/monte_carlo/pair_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace btml::monte_carlo {

using namespace pairwise;

namespace {

constexpr size_t group = PointColumns::group;
constexpr double work_per_block = 16'000'000; // pairs times dimensions
constexpr size_t min_blocks = 16;             // so that threads share the work of few rows
constexpr size_t numbers_at_once = size_t{1} << 22;

// Rows of a block: the same for every number of bandwidths and threads, and so is the order in which sums are added.
size_t rows_of_block(const ExactRows& rows) {
    const auto most =
        static_cast<size_t>(std::sqrt(work_per_block / (static_cast<double>(rows.points().dimensions) + 64)));
    const size_t wanted = std::min({strip_others, most, (rows.padded() + min_blocks - 1) / min_blocks});
    return std::max(group, wanted / group * group);
}

} // namespace

ExactRows::ExactRows(const ScoreRows& rows, RunContext& context)
    : size_(rows.size()),
      dimensions_(rows.dimensions),
      padded_((size_ + PointColumns::group - 1) / PointColumns::group * PointColumns::group),
      has_targets_(rows.target),
      columns_(context.memory(), "columns of a score's points", padded_ * rows.width()) {
    std::vector<uint32_t> order(size_);
    std::iota(order.begin(), order.end(), 0U);
    if (rows.target)
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return rows.row(a)[dimensions_] < rows.row(b)[dimensions_]; });
    for (size_t k = 0; k < rows.width(); k++) {
        double* const to = columns_.data() + k * padded_;
        for (size_t i = 0; i < size_; i++) to[i] = rows.row(order[i])[k];
        std::fill(to + size_, to + padded_, k < dimensions_ ? std::numeric_limits<double>::infinity() : 0);
    }
}

size_t PairSums::bandwidths_at_once(const ExactRows& rows, const MemoryBudget& memory) {
    const size_t numbers = 4 * rows.padded(); // of one bandwidth
    const uint64_t fitting = memory.left() / 2 / (numbers * sizeof(double));
    return std::clamp<uint64_t>(fitting, 1, std::max<size_t>(4, numbers_at_once / numbers));
}

// In each round every block is the first of one pair of blocks and the second of another, so that no two threads add to
// the same sums.
PairSums::PairSums(const ScoreForm& form, const ExactRows& rows, std::span<const Bandwidths> bandwidths,
                   ThreadTeam& team, RunContext& context)
    : form_(form),
      rows_(rows),
      block_(rows_of_block(rows)),
      totals_(context.memory(), "sums over all pairs", bandwidths.size() * 4 * rows.padded(), 0.0) {
    for (const Bandwidths& of : bandwidths) coefficients_.push_back(facts_of(form.kernel).coefficient(of.x));
    const size_t blocks = (rows.padded() + block_ - 1) / block_;
    Buffer<double> sums(context.memory(), "sums over all pairs", team.size() * strip_rows * strip_others);
    for (size_t round = 0; round <= blocks / 2; round++)
        team.for_each(2 * round == blocks ? round : blocks, [&](size_t item, int worker) {
            if (worker == 0)
                context.share_progress("summing all pairs", round * blocks + item, (blocks / 2 + 1) * blocks);
            add_block(item, (item + round) % blocks, sums.data() + worker * strip_rows * strip_others);
        });
}

void PairSums::add_block(size_t first, size_t second, double* sums) {
    const size_t end = std::min(rows_.size(), (first + 1) * block_),
                 last = std::min(rows_.padded(), (second + 1) * block_);
    for (size_t row = first * block_; row < end; row += strip_rows) {
        const size_t rows = std::min(strip_rows, end - row);
        size_t other = second * block_;
        if (first == second) { // those before have had these rows among their others
            add_strip({rows_.points(), row, rows, row, group}, sums, true);
            other = row + group;
        }
        if (other < last) add_strip({rows_.points(), row, rows, other, last - other}, sums, false);
    }
}

void PairSums::add_strip(const Strip& strip, double* sums, bool is_own) {
    double unused[2 * group] = {};
    find_strip(strip, form_.kernel, sums);
    for (size_t b = 0; b < coefficients_.size(); b++) {
        const StripTotals of_rows = totals(b, 0, strip.row),
                          of_others = is_own ? StripTotals{unused, unused + group} : totals(b, 1, strip.other);
        if (form_.convolution)
            add_strip_densities(strip, sums, form_.kernel, coefficients_[b], *form_.convolution, of_rows, of_others);
        else
            pairwise::add_strip(strip, sums, form_.kernel, coefficients_[b], of_rows, of_others);
    }
}

} // namespace btml::monte_carlo
