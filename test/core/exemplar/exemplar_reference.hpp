// Utilities of sets of exemplars, computed anew.
#pragma once

#include "exemplar_data.hpp"

#include "core/exemplar/squared_exponential.hpp"

#include <cmath>
#include <vector>

namespace btml::exemplar::test {

using Matrix = std::vector<std::vector<double>>;

// Solves a x = b by elimination; also gives log det a.
inline std::vector<double> solve(Matrix a, std::vector<double> b, double* log_determinant = nullptr) {
    const size_t n = b.size();
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += std::log(a[c][c]);
        for (size_t i = c + 1; i < n; i++) {
            const double factor = a[i][c] / a[c][c];
            for (size_t j = c; j < n; j++) a[i][j] -= factor * a[c][j];
            b[i] -= factor * b[c];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++) b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
    if (log_determinant) *log_determinant = sum;
    return b;
}

struct Member {
    uint64_t number;
    Row row;
};

// Of objectives for Gaussian processes.
class GpReference {
  public:
    GpReference(ObjectiveKind kind, const std::vector<Row>& rows, const SquaredExponential& kernel,
                bool members_count = false)
        : kind_(kind), rows_(rows), kernel_(kernel), members_count_(members_count) {}

    // Sum over the rows, by their weights: of all, or of those that are neither in the set nor `left_out`.
    double operator()(const std::vector<Member>& set, uint64_t left_out) const {
        const size_t k = set.size();
        Matrix covariances(k, std::vector<double>(k));
        std::vector<double> targets(k);
        for (size_t i = 0; i < k; i++) {
            targets[i] = set[i].row.target - kernel_.mean;
            for (size_t j = 0; j < k; j++)
                covariances[i][j] = covariance(set[i].row, set[j].row) + (i == j ? kernel_.noise : 0);
        }
        double determinant = 0;
        const std::vector<double> alpha = solve(covariances, targets, &determinant);
        if (kind_ == ObjectiveKind::information)
            return (determinant - static_cast<double>(k) * std::log(kernel_.noise)) / 2;
        double sum = 0;
        for (size_t i = 0; i < rows_.size(); i++) {
            bool counts = i != left_out;
            for (const Member& member : set) counts &= member.number != i;
            if (!counts && !members_count_) continue;
            std::vector<double> to(k);
            double prediction = 0, explained = 0;
            for (size_t j = 0; j < k; j++) to[j] = covariance(rows_[i], set[j].row), prediction += to[j] * alpha[j];
            const std::vector<double> solved = solve(covariances, to);
            for (size_t j = 0; j < k; j++) explained += to[j] * solved[j];
            const double y = rows_[i].target - kernel_.mean;
            sum += rows_[i].weight *
                   (kind_ == ObjectiveKind::variance ? explained : y * y - (y - prediction) * (y - prediction));
        }
        return sum;
    }

  private:
    double covariance(const Row& a, const Row& b) const {
        double sum = 0;
        for (size_t f = 0; f < a.x.size(); f++) {
            const double u = (a.x[f] - b.x[f]) / kernel_.length_scales[f];
            sum += u * u;
        }
        return kernel_.signal * std::exp(-sum / 2);
    }

    const ObjectiveKind kind_;
    const std::vector<Row>& rows_;
    const SquaredExponential& kernel_;
    const bool members_count_;
};

} // namespace btml::exemplar::test
