#include "core/relational/join/fractional_cover.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace btml::relational {

namespace {

constexpr double tiny = 1e-11; // entries of the tableau are quotients of small integers

// The dual programme: the greatest Σ_v y_v with y ≥ 0 and Σ_{v ∈ e} y_v ≤ weights[e] for each edge. y = 0 is feasible,
// so the simplex method starts there. Bland's rule (of the variables that may enter or leave the basis the one with the
// least number) keeps it from circling.
class DualSimplex {
  public:
    DualSimplex(int vertices, const std::vector<std::vector<int>>& edges, const std::vector<double>& weights)
        : columns_(vertices), gains_(columns_, 1.0), outside_(columns_), basis_(edges.size()) {
        std::iota(outside_.begin(), outside_.end(), size_t{0});
        std::iota(basis_.begin(), basis_.end(), columns_);
        for (size_t e = 0; e < edges.size(); e++) {
            rows_.emplace_back(columns_ + 1, 0.0);
            for (int vertex : edges[e]) rows_[e][vertex] = 1;
            rows_[e][columns_] = weights[e];
        }
    }

    double optimum() {
        for (size_t column = entering(); column < columns_; column = entering()) pivot(leaving(column), column);
        return value_;
    }

  private:
    size_t entering() const {
        size_t best = columns_;
        for (size_t c = 0; c < columns_; c++)
            if (gains_[c] > tiny && (best == columns_ || outside_[c] < outside_[best])) best = c;
        return best;
    }

    size_t leaving(size_t column) const {
        size_t best = rows_.size();
        double least = 0;
        for (size_t r = 0; r < rows_.size(); r++) {
            if (rows_[r][column] <= tiny) continue;
            const double ratio = rows_[r][columns_] / rows_[r][column];
            const bool tie = best < rows_.size() && ratio < least + tiny && basis_[r] < basis_[best];
            if (best == rows_.size() || ratio < least - tiny || tie) {
                best = r;
                least = ratio;
            }
        }
        if (best == rows_.size()) throw Error(ErrorCode::internal, "a vertex of a hypergraph is in no edge");
        return best;
    }

    void pivot(size_t row, size_t column) {
        std::vector<double>& by = rows_[row];
        const double factor = by[column];
        by[column] = 1;
        for (double& entry : by) entry /= factor;
        const auto subtract = [&](double* entries, size_t count) {
            const double times = std::exchange(entries[column], 0.0);
            for (size_t c = 0; c < count; c++) entries[c] -= times * by[c];
        };
        value_ += gains_[column] * by[columns_];
        subtract(gains_.data(), columns_);
        for (size_t r = 0; r < rows_.size(); r++)
            if (r != row) subtract(rows_[r].data(), columns_ + 1);
        std::swap(basis_[row], outside_[column]);
    }

    size_t columns_;
    std::vector<std::vector<double>> rows_; // of each basic variable; the right side comes last
    std::vector<double> gains_;             // of the objective, by column
    std::vector<size_t> outside_, basis_;   // the variable of each column and row: vertices, then edges
    double value_ = 0;
};

} // namespace

double fractional_cover(int vertices, const std::vector<std::vector<int>>& edges, const std::vector<double>& weights) {
    return DualSimplex(vertices, edges, weights).optimum();
}

double fractional_cover(const std::vector<int>& vertices, const std::vector<std::vector<int>>& edges,
                        const WeightOfPart& weight) {
    std::vector<std::vector<int>> parts;
    std::vector<double> weights;
    for (size_t e = 0; e < edges.size(); e++) {
        std::vector<int> part;
        std::set_intersection(edges[e].begin(), edges[e].end(), vertices.begin(), vertices.end(),
                              std::back_inserter(part));
        if (part.empty()) continue;
        weights.push_back(weight(static_cast<int>(e), part));
        for (int& vertex : part)
            vertex = static_cast<int>(std::lower_bound(vertices.begin(), vertices.end(), vertex) - vertices.begin());
        parts.push_back(std::move(part));
    }
    return fractional_cover(static_cast<int>(vertices.size()), parts, weights);
}

} // namespace btml::relational
