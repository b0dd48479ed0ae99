#include "core/linear/likelihood.hpp"

#include "core/algebra/dense.hpp"
#include "core/base/worker_contexts.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

constexpr size_t block_rows = algebra::block_side;

// Takes Σ ss' of so many rows s of numbers from the lower triangle of a matrix.
void subtract_squares(const double* rows, size_t count, size_t size, double* matrix, RunContext& context) {
    const algebra::Blocks blocks(rows, count, size), sums(matrix, size, size);
    for (size_t i = 0; i < algebra::blocks_of(size); i++)
        for (size_t j = 0; j <= i; j++) {
            algebra::subtract_product_of_columns(blocks(0, i), blocks(0, j), sums(i, j));
            context.worked(1 + count * blocks(0, i).columns * blocks(0, j).columns / 64);
        }
}

// Rows of the design, with what they are worth at the coefficients at hand.
class RowBlock {
  public:
    RowBlock(const Design& design, MemoryBudget& budget)
        : design_(design),
          dense_(design.dense()),
          groups_(design.groups()),
          values_(budget, what, block_rows * dense_),
          weighted_(budget, what, block_rows * dense_),
          places_(budget, what, block_rows * groups_),
          scores_(budget, what, block_rows),
          slopes_(budget, what, block_rows),
          weights_(budget, what, block_rows) {}

    void read(uint64_t begin, uint64_t end) {
        begin_ = begin;
        count_ = end - begin;
        design_.read(begin, end, values_.data(), block_rows);
        design_.read_categories(begin, end, places_.data());
    }

    void score(std::span<const double> coefficients) {
        std::fill_n(scores_.begin(), count_, 0.0);
        for (size_t d = 0; d < dense_; d++) {
            const double* const values = column(d);
            for (size_t i = 0; i < count_; i++) scores_[i] += coefficients[d] * values[i];
        }
        for (size_t i = 0; i < count_; i++)
            for (const uint32_t place : categories(i)) scores_[i] += place == 0 ? 0 : coefficients[place];
    }

    // Adds the rows' terms to sums, and keeps their slopes and weights for what follows.
    template <Family family>
    void add_terms(std::span<const double> coefficients, Curvature curvature, LikelihoodSums& sums) {
        score(coefficients);
        for (size_t i = 0; i < count_; i++) {
            const double weight = design_.weight(begin_ + i);
            const RowTerms terms = terms_of<family>(design_.target(begin_ + i), scores_[i]);
            sums.deviance += weight * terms.deviance;
            sums.pearson += weight * terms.pearson;
            sums.largest = std::max(sums.largest, std::fabs(scores_[i]));
            slopes_[i] = weight * terms.slope;
            weights_[i] = curvature == Curvature::squared_slopes ? slopes_[i] * slopes_[i]
                          : curvature == Curvature::expected     ? weight * terms.expected
                                                                 : weight * terms.curvature;
        }
    }

    void add_slopes(double* to) const {
        for (size_t d = 0; d < dense_; d++) {
            const double* const values = column(d);
            double parts[8] = {};
            for (size_t i = 0; i < count_; i++) parts[i % 8] += slopes_[i] * values[i];
            to[d] += ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
        }
        for (size_t i = 0; i < count_; i++)
            for (const uint32_t place : categories(i))
                if (place > 0) to[place] += slopes_[i];
    }
    // Adds the slope of a row, times the row of the design.
    void add_slope(size_t i, double* to) const {
        for (size_t d = 0; d < dense_; d++) to[d] += slopes_[i] * column(d)[i];
        for (const uint32_t place : categories(i))
            if (place > 0) to[place] += slopes_[i];
    }
    size_t count() const { return count_; }

    // Adds the products of the rows' columns, times their weights, to the lower triangle of a matrix.
    void add_matrix(double* matrix, size_t size, RunContext& context) {
        for (size_t d = 0; d < dense_; d++)
            for (size_t i = 0; i < count_; i++) weighted_[d * block_rows + i] = -weights_[i] * column(d)[i];
        const algebra::Blocks left(weighted_.data(), dense_, count_, block_rows),
            right(values_.data(), dense_, count_, block_rows), sums(matrix, dense_, dense_, size);
        for (size_t j = 0; j < algebra::blocks_of(dense_); j++)
            for (size_t k = 0; k <= j; k++) {
                algebra::subtract_product_of_rows(left(j, 0), right(k, 0), sums(j, k));
                context.worked(1 + count_ * left(j, 0).rows * right(k, 0).rows / 64);
            }
        for (size_t i = 0; i < count_; i++) add_categories(i, matrix, size);
    }

  private:
    static constexpr const char* what = "rows of a linear model";

    const double* column(size_t d) const { return &values_[d * block_rows]; }
    std::span<const uint32_t> categories(size_t i) const { return places_.span().subspan(i * groups_, groups_); }
    // Places of later groups are greater.
    void add_categories(size_t i, double* matrix, size_t size) const {
        const std::span<const uint32_t> places = categories(i);
        for (size_t g = 0; g < places.size(); g++) {
            if (places[g] == 0) continue;
            double* const row = matrix + places[g] * size;
            for (size_t d = 0; d < dense_; d++) row[d] += weights_[i] * column(d)[i];
            for (size_t h = 0; h <= g; h++)
                if (places[h] > 0) row[places[h]] += weights_[i];
        }
    }

    const Design& design_;
    const size_t dense_, groups_;
    Buffer<double> values_, weighted_; // column by column
    Buffer<uint32_t> places_;          // row by row
    Buffer<double> scores_, slopes_, weights_;
    uint64_t begin_ = 0;
    size_t count_ = 0;
};

// Returns how many sums are formed side by side, whose memory is bounded.
size_t lanes_of(uint64_t rows, size_t size, bool has_matrix) {
    static constexpr size_t most = 16, numbers = size_t{1} << 22;
    const size_t by_memory = has_matrix ? std::clamp<size_t>(numbers / (size * size), 2, most) : most;
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

LikelihoodSums Likelihood::sums(std::span<const double> coefficients, Curvature curvature, uint64_t begin,
                                uint64_t end) const {
    const bool has_matrix = curvature != Curvature::none;
    const size_t size = design_.size(), lanes = lanes_of(end - begin, size, has_matrix);
    std::vector<LikelihoodSums> sums = empty_sums(lanes, size, has_matrix, context_.memory());
    const uint64_t units = 1 + size / 8;
    WorkerContexts contexts(context_, team_.size(), 0, "sums of a linear model");
    const auto sum_lane = [&](size_t lane, RunContext& own) {
        RowBlock rows(design_, own.memory());
        const uint64_t first = begin + (end - begin) * lane / lanes, last = begin + (end - begin) * (lane + 1) / lanes;
        for (uint64_t row = first; row < last; row += block_rows) {
            rows.read(row, std::min<uint64_t>(last, row + block_rows));
            with_family(family_, [&](auto family) {
                rows.template add_terms<decltype(family)::value>(coefficients, curvature, sums[lane]);
            });
            rows.add_slopes(sums[lane].slopes.data());
            if (has_matrix) rows.add_matrix(sums[lane].matrix.data(), size, own);
            own.worked(rows.count() * units);
        }
    };
    team_.for_each(
        lanes, [&](size_t lane, int worker) { contexts.run(worker, [&](RunContext& own) { sum_lane(lane, own); }); },
        [&] { contexts.poll(); });
    return total_of(std::move(sums));
}

LikelihoodSums Likelihood::at(std::span<const double> coefficients, Curvature curvature) const {
    return sums(coefficients, curvature, 0, design_.training());
}

double Likelihood::held_out(std::span<const double> coefficients) const {
    double weight = 0;
    const uint64_t first = design_.training();
    context_.for_each(design_.rows() - first, 1, [&](uint64_t i) { weight += design_.weight(first + i); });
    return sums(coefficients, Curvature::none, first, design_.rows()).deviance / weight;
}

Buffer<double> Likelihood::clustered(std::span<const double> coefficients, uint64_t& groups) const {
    const FeatureColumn& group = *design_.dataset().divider;
    const RowIds ids = design_.dataset().ids_of(group);
    const size_t size = design_.size(), codes = group.categories.size();
    Buffer<double> slopes(context_.memory(), "groups of a linear model", codes * size, 0.0);
    Buffer<uint8_t> seen(context_.memory(), "groups of a linear model", codes, 0);
    RowBlock rows(design_, context_.memory());
    LikelihoodSums unused(context_.memory());
    for (uint64_t row = 0; row < design_.training(); row += block_rows) {
        rows.read(row, std::min(design_.training(), row + block_rows));
        with_family(family_, [&](auto family) {
            rows.template add_terms<decltype(family)::value>(coefficients, Curvature::none, unused);
        });
        for (size_t i = 0; i < rows.count(); i++) {
            const uint32_t code = group.codes[ids[row + i]];
            if (code == FeatureColumn::null_code)
                throw Error(ErrorCode::null_value, format("group_by \"%s\" is NULL in a row", group.name.c_str()));
            seen[code] = 1;
            rows.add_slope(i, &slopes[code * size]);
        }
        context_.worked(rows.count() * (1 + size / 4));
    }
    groups = static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 1));
    Buffer<double> matrix(context_.memory(), "the matrix of a linear model", size * size, 0.0);
    for (size_t begin = 0; begin < codes; begin += block_rows) {
        const size_t count = std::min(block_rows, codes - begin);
        subtract_squares(&slopes[begin * size], count, size, matrix.data(), context_);
    }
    for (double& number : matrix) number = -number;
    return matrix;
}

} // namespace btml::linear
