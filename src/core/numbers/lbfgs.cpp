#include "core/numbers/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace btml {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(Vector& to, double factor, const Vector& vector) {
    for (size_t i = 0; i < to.size(); i++) to[i] += factor * vector[i];
}

Vector difference(const Vector& a, const Vector& b) {
    Vector result(a);
    add(result, -1, b);
    return result;
}

double largest(const Vector& vector) {
    double most = 0;
    for (const double x : vector) most = std::max(most, std::abs(x));
    return most;
}

// The last steps and how the gradient changed over them: an approximate inverse of the matrix of second derivatives.
class History {
  public:
    bool empty() const { return pairs_.empty(); }
    void clear() { pairs_.clear(); }

    void add_pair(Vector step, Vector change) {
        const double curvature = dot(step, change);
        if (!(curvature > 1e-12 * dot(change, change))) return;
        if (pairs_.size() == max_pairs) pairs_.pop_front();
        pairs_.push_back({std::move(step), std::move(change), 1 / curvature});
    }

    // The inverse times the gradient.
    Vector times(Vector gradient) const {
        Vector factors;
        for (size_t i = pairs_.size(); i-- > 0;) {
            factors.push_back(pairs_[i].inverse * dot(pairs_[i].step, gradient));
            add(gradient, -factors.back(), pairs_[i].change);
        }
        const Pair& last = pairs_.back();
        for (double& x : gradient) x /= last.inverse * dot(last.change, last.change);
        for (const Pair& pair : pairs_) {
            const double other = pair.inverse * dot(pair.change, gradient);
            add(gradient, factors.back() - other, pair.step);
            factors.pop_back();
        }
        return gradient;
    }

  private:
    static constexpr size_t max_pairs = 8;
    struct Pair {
        Vector step, change;
        double inverse; // of their product
    };
    std::deque<Pair> pairs_;
};

} // namespace

Minimum minimise(Vector& x, const SmoothFunction& function, int evaluations, double min_gain, double longest_step) {
    static constexpr double sufficient_decrease = 1e-4, shortening = 0.4, shortest = 1e-6, first_step = 0.3;
    Vector gradient(x.size()), next(x.size()), next_gradient(x.size());
    Minimum best{function(x, gradient), 1};
    History history;
    bool along_gradient = false;
    while (best.evaluations < evaluations) {
        const double steepest = largest(gradient);
        if (!(steepest > 0)) break;
        Vector direction = gradient;
        if (history.empty())
            for (double& d : direction) d *= first_step / steepest;
        else
            direction = history.times(std::move(direction));
        const double length = largest(direction);
        if (length > longest_step)
            for (double& d : direction) d *= longest_step / length;
        const double slope = dot(gradient, direction);
        double gain = 0;
        for (double step = 1; slope > 0 && step > shortest && best.evaluations < evaluations; step *= shortening) {
            next = x;
            add(next, -step, direction);
            const double value = function(next, next_gradient);
            best.evaluations++;
            if (!(value <= best.value - sufficient_decrease * step * slope)) continue;
            gain = best.value - value;
            history.add_pair(difference(next, x), difference(next_gradient, gradient));
            x.swap(next);
            gradient.swap(next_gradient);
            best.value = value;
            break;
        }
        if (gain >= min_gain && gain > 0) {
            along_gradient = false;
        } else {
            if (along_gradient) break;
            history.clear(); // once more along the gradient itself
            along_gradient = true;
        }
    }
    return best;
}

} // namespace btml
