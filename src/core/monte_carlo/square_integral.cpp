#include "core/monte_carlo/square_integral.hpp"

#include "core/numbers/elementary.hpp"
#include "core/pairwise/normal_cells.hpp"

#include <algorithm>
#include <cmath>

namespace btml::monte_carlo {

using namespace pairwise;

namespace {

using Cells = std::array<double, cells>;

// exp(−(s·k)²/2) for the steps k, s = 1/steps_per_bandwidth.
Cells step_weights() {
    Cells weights;
    for (size_t k = 0; k < cells; k++) {
        const double t = (static_cast<double>(k) - cells / 2) / steps_per_bandwidth;
        weights[k] = std::exp(-t * t / 2);
    }
    return weights;
}

// Adds weight·exp(−t²/2) at the places t = (k − cells/2 − fraction) / steps_per_bandwidth, 0 ≤ fraction < 1:
// exp(−(a − b)²/2) = exp(−a²/2) · exp(ab) · exp(−b²/2), and exp(ab) is a power of exp(s·b).
void add_normal(double* to, double fraction, double weight) {
    static const Cells steps = step_weights();
    const double b = fraction / steps_per_bandwidth, ratio = exponential(-b / steps_per_bandwidth), inverse = 1 / ratio;
    const double centre = weight * exponential(-b * b / 2);
    double up = centre;
    for (size_t k = cells / 2; k < cells; k++, up *= inverse) to[k] += up * steps[k];
    double down = centre * ratio;
    for (size_t k = cells / 2; k-- > 0; down *= ratio) to[k] += down * steps[k];
}

// Numbers the places that ascending targets reach one after another.
class Places {
  public:
    // The first place that the target reaches.
    size_t first(double whole) {
        if (end_ == 0 || whole - base_ > end_) base_ = whole - end_;
        const size_t place = whole - base_;
        end_ = std::max(end_, place + cells);
        return place;
    }
    size_t end() const { return end_; }

  private:
    double base_ = 0; // the step of place 0; it moves where a gap is left out
    size_t end_ = 0;
};

constexpr double peak = 0.3989422804014327; // of N(0, 1)

double square_integral(double sum_of_squares, double h) {
    return sum_of_squares * peak * peak / (h * steps_per_bandwidth);
}

// The densities of targets at so many places between two steps: to round a target to the nearest of them moves it by
// h/256 at most, which changes the integral by 1e-5 of itself, far below the error of any sample.
constexpr size_t fractions = 64;

std::array<Cells, fractions> rounded_normals() {
    std::array<Cells, fractions> normals{};
    for (size_t f = 0; f < fractions; f++) add_normal(normals[f].data(), (f + 0.5) / fractions, 1);
    return normals;
}

// Targets that range over more steps are sorted, so that gaps can be left out.
constexpr double max_unsorted_range = 4096;

} // namespace

MixtureIntegrals mixture_integrals(std::span<const WeightedTarget> targets, double at, double h) {
    static const std::array<Cells, fractions> normals = rounded_normals();
    thread_local std::vector<WeightedTarget> sorted;
    thread_local std::vector<double> density;
    const auto less = [](const WeightedTarget& a, const WeightedTarget& b) { return a.target < b.target; };
    const double steps = steps_per_bandwidth / h;
    double first = targets.empty() ? 0 : targets[0].target, last = first;
    for (const WeightedTarget& target : targets) {
        first = std::min(first, target.target);
        last = std::max(last, target.target);
    }
    const bool narrow = (last - first) * steps < max_unsorted_range;
    if (!narrow) {
        sorted.assign(targets.begin(), targets.end());
        std::sort(sorted.begin(), sorted.end(), less);
        targets = sorted;
    }
    density.assign(narrow ? static_cast<size_t>((last - first) * steps) + cells + 2 : 0, 0.0);
    double value = 0;
    Places places;
    const double origin = std::floor(first * steps);
    for (const auto& [target, weight] : targets) {
        const double distance = (at - target) / h;
        value += weight * exponential(-distance * distance / 2);
        const double place = target * steps, whole = std::floor(place);
        size_t cell = narrow ? static_cast<size_t>(whole - origin) : 0;
        if (!narrow) {
            cell = places.first(whole);
            density.resize(places.end(), 0.0);
        }
        add_scaled(normals[static_cast<size_t>((place - whole) * fractions)].data(), weight, density.data() + cell);
    }
    double sum = 0;
    for (const double x : density) sum += x * x;
    return {square_integral(sum, h), value * peak / h};
}

NormalCells::NormalCells(std::span<const double> targets, double h, RunContext& context)
    : targets_(targets),
      h_(h),
      first_(context.memory(), "normal densities", targets.size()),
      values_(context.memory(), "normal densities", targets.size() * cells) {
    Places places;
    context.for_each(targets.size(), 64, [&](size_t j) {
        const double place = targets[j] * (steps_per_bandwidth / h), whole = std::floor(place);
        first_[j] = static_cast<uint32_t>(places.first(whole));
        std::fill_n(values_.data() + j * cells, cells, 0.0);
        add_normal(values_.data() + j * cells, place - whole, 1);
    });
    size_ = places.end();
}

NormalCells::Some NormalCells::integrals(const double* weights, size_t stride, size_t at, double* density) const {
    std::fill_n(density, mixtures * size_, 0.0);
    Mixture to[mixtures];
    for (size_t m = 0; m < mixtures; m++) to[m] = {weights + m * stride, density + m * size_};
    add_cells(to, targets_.size(), first_.data(), values_.data());
    Some some;
    for (size_t m = 0; m < mixtures; m++) {
        double sum = 0;
        for (size_t k = 0; k < size_; k++) sum += to[m].density[k] * to[m].density[k];
        const double target = targets_[std::min(at + m, targets_.size() - 1)];
        const double value = weighted_normals({to[m].weights, targets_.size()}, targets_, target, h_);
        some[m] = {square_integral(sum, h_), value * peak / h_};
    }
    return some;
}

} // namespace btml::monte_carlo
