#include "core/monte_carlo/scores.hpp"

#include <cmath>
#include <functional>
#include <queue>

namespace btml::monte_carlo {

namespace {

constexpr size_t rows_per_poll = size_t{1} << 16;
constexpr uint64_t units_of_visit = 4; // of work: a row in an order that is not memory's
constexpr double feature_weight = 0.5; // of all features together, beside 1 for each other column

// Holds what rows are stratified by: `width` numbers a row.
struct Profile {
    Profile(size_t columns, size_t rows, MemoryBudget& budget)
        : width(columns), values(budget, "strata", rows * columns) {}

    float* row(size_t i) { return values.data() + i * width; }
    const float* row(size_t i) const { return values.data() + i * width; }

    size_t width;
    Buffer<float> values;
};

// Squares of the target and of its difference from the mean of the leaf's other targets.
void add_squares(const VarianceTree& tree, const VarianceTree::Node& leaf, Profile& profile) {
    double sum = 0;
    for (size_t i = leaf.begin; i < leaf.end; i++) sum += tree.target(i);
    const double others = static_cast<double>(leaf.size()) - 1;
    for (size_t i = leaf.begin; i < leaf.end; i++) {
        const double target = tree.target(i), residual = others > 0 ? target - (sum - target) / others : target;
        float* const to = profile.row(i) + tree.rows().dimensions;
        to[0] = static_cast<float>(target * target);
        to[1] = static_cast<float>(residual * residual);
    }
}

// Returns about what a row alone makes of the score: for kr the square of its residual in the leaf; for a likelihood
// its squared distance to the nearest row, which is the logarithm of its density where that row alone counts.
double size_of_row(ScoreKind kind, const float* profile, size_t dimensions) {
    return kind == ScoreKind::kr ? profile[dimensions + 1] : std::exp(static_cast<double>(profile[dimensions]));
}

// Returns rows that are each a large part of the score, which no sample of a large stratum is certain to meet. For kr
// these are rows far from the others of their leaf, and some that are near one of them: at small bandwidths they are
// predicted from it, and are as far off. They are in ascending order.
std::vector<uint32_t> extreme_rows(const VarianceTree& tree, ScoreKind kind, const Profile& profile, size_t max_rows,
                                   RunContext& context) {
    constexpr double large_share = 0.005; // of the sum of all rows' sizes
    constexpr size_t max_neighbours = 16;
    if (kind != ScoreKind::kr && kind != ScoreKind::likelihood) return {}; // their terms are bounded
    const size_t n = tree.size();
    const auto size = [&](size_t i) { return size_of_row(kind, profile.row(i), tree.rows().dimensions); };
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += size(i);
        context.worked(1);
    }
    std::vector<uint32_t> rows;
    for (size_t i = 0; i < n && sum > 0; i++) {
        if (size(i) >= large_share * sum) rows.push_back(i);
        context.worked(1);
    }
    if (rows.empty() || rows.size() > max_rows) return {};
    const size_t neighbours = kind == ScoreKind::kr ? std::min(max_neighbours, max_rows / rows.size() - 1) : 0;
    for (size_t i = 0, extremes = rows.size(); neighbours > 0 && i < extremes; i++) {
        context.poll();
        const std::vector<uint32_t> near = tree.nearest<pairwise::Squares>(rows[i], neighbours);
        rows.insert(rows.end(), near.begin(), near.end());
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

void add_distances(const VarianceTree& tree, const VarianceTree::Node& leaf, Profile& profile) {
    const size_t d = tree.rows().dimensions;
    double least[VarianceTree::leaf_rows];
    std::fill_n(least, leaf.size(), std::numeric_limits<double>::max());
    for (size_t i = leaf.begin; i < leaf.end; i++)
        for (size_t j = leaf.begin; j < i; j++) {
            const double distance = pairwise::sum_of<pairwise::Squares>(tree.row(i), tree.row(j), d);
            least[i - leaf.begin] = std::min(least[i - leaf.begin], distance);
            least[j - leaf.begin] = std::min(least[j - leaf.begin], distance);
        }
    if (leaf.size() == 1)
        least[0] = pairwise::sum_of<pairwise::Squares>(tree.row(leaf.begin),
                                                       tree.row(tree.nearest<pairwise::Squares>(leaf.begin)), d);
    for (size_t i = leaf.begin; i < leaf.end; i++) {
        float* const to = profile.row(i) + d;
        to[0] = static_cast<float>(std::log(std::max(least[i - leaf.begin], 1e-300)));
        if (profile.width > d + 1) to[1] = static_cast<float>(tree.target(i));
    }
}

// Returns, by column, the sums over some rows of the differences from the first one, and then those of their squares.
template <class RowAt>
std::vector<double> sums_of(const Profile& profile, size_t begin, size_t end, const RowAt& row_at, ThreadTeam& team) {
    const size_t width = profile.width, pieces = (end - begin + rows_per_poll - 1) / rows_per_poll;
    std::vector<double> of_pieces(pieces * 2 * width, 0.0), sums(2 * width, 0.0);
    const float* const origin = profile.row(row_at(begin));
    team.for_each(pieces, [&](size_t piece, int) {
        double* const sum = of_pieces.data() + piece * 2 * width;
        const size_t stop = std::min(end, begin + (piece + 1) * rows_per_poll);
        for (size_t i = begin + piece * rows_per_poll; i < stop; i++)
            for (size_t k = 0; k < width; k++) {
                const double x = profile.row(row_at(i))[k] - static_cast<double>(origin[k]);
                sum[k] += x;
                sum[width + k] += x * x;
            }
    });
    for (size_t i = 0; i < of_pieces.size(); i++) sums[i % sums.size()] += of_pieces[i];
    return sums;
}

// Divides each column by its standard deviation and the features by a number more.
void standardise(const VarianceTree& tree, Profile& profile, ThreadTeam& team) {
    const size_t n = tree.size(), d = tree.rows().dimensions, width = profile.width;
    const std::vector<double> sums = sums_of(profile, 0, n, std::identity(), team);
    std::vector<float> factor(width);
    for (size_t k = 0; k < width; k++) {
        const double count = n, variance = (sums[width + k] - sums[k] * sums[k] / count) / count;
        const double weight = k < d ? feature_weight / std::sqrt(static_cast<double>(d)) : 1;
        factor[k] = variance > 0 && std::isfinite(variance) ? static_cast<float>(weight / std::sqrt(variance)) : 0;
    }
    const size_t pieces = (n + rows_per_poll - 1) / rows_per_poll;
    team.for_each(pieces, [&](size_t piece, int) {
        for (size_t i = piece * rows_per_poll; i < std::min(n, (piece + 1) * rows_per_poll); i++)
            for (size_t k = 0; k < width; k++) profile.row(i)[k] *= factor[k];
    });
}

Profile make_profile(const VarianceTree& tree, ScoreKind kind, ThreadTeam& team, RunContext& context) {
    const size_t d = tree.rows().dimensions;
    Profile profile(d + (has_target(kind) ? 2 : 1), tree.size(), context.memory());
    constexpr size_t nodes_per_item = 1024;
    const size_t items = (tree.nodes() + nodes_per_item - 1) / nodes_per_item;
    team.for_each(items, [&](size_t item, int) {
        for (size_t number = item * nodes_per_item; number < std::min(tree.nodes(), (item + 1) * nodes_per_item);
             number++) {
            const VarianceTree::Node& leaf = tree.node(number);
            if (leaf.children != 0) continue;
            for (size_t i = leaf.begin; i < leaf.end; i++)
                for (size_t k = 0; k < d; k++) profile.row(i)[k] = static_cast<float>(tree.row(i)[k]);
            if (kind == ScoreKind::kr)
                add_squares(tree, leaf, profile);
            else
                add_distances(tree, leaf, profile);
        }
    });
    return profile;
}

// A node that may be split.
struct Open {
    size_t begin, end; // of its rows in the order so far
    double priority;   // size times standard deviation
    size_t axis;
    double border; // its mean on the axis
    uint64_t number;

    bool operator<(const Open& other) const {
        return priority != other.priority ? priority < other.priority : number > other.number;
    }
};

class Splitting {
  public:
    Splitting(const Profile& profile, Buffer<uint32_t>& order, ThreadTeam& team, RunContext& context)
        : profile_(profile), order_(order), team_(team), context_(context) {}

    // Splits the rows from `begin` on.
    std::vector<Open> run(size_t begin, size_t count) {
        std::vector<Open> done;
        std::priority_queue<Open> open;
        if (begin < order_.size()) open.push(measure(begin, order_.size()));
        while (!open.empty() && done.size() + open.size() < count) {
            const Open node = open.top();
            open.pop();
            const auto first = order_.begin() + node.begin, last = order_.begin() + node.end;
            const auto is_below = [&](uint32_t i) {
                context_.worked(units_of_visit);
                return profile_.row(i)[node.axis] < node.border;
            };
            const auto middle = node.priority > 0 ? std::partition(first, last, is_below) : first;
            const size_t border = middle - order_.begin();
            if (border == node.begin || border == node.end) {
                done.push_back(node);
                continue;
            }
            open.push(measure(node.begin, border));
            open.push(measure(border, node.end));
        }
        for (; !open.empty(); open.pop()) done.push_back(open.top());
        std::sort(done.begin(), done.end(), [](const Open& a, const Open& b) { return a.begin < b.begin; });
        return done;
    }

  private:
    Open measure(size_t begin, size_t end) {
        const size_t width = profile_.width;
        const std::vector<double> sums = sums_of(
            profile_, begin, end, [&](size_t i) { return order_[i]; }, team_);
        const float* const origin = profile_.row(order_[begin]);
        const double count = end - begin;
        Open node{begin, end, 0, 0, 0, made_++};
        double total = 0, most = -1;
        for (size_t k = 0; k < width; k++) {
            const double mean = sums[k] / count, variance = std::max(0.0, sums[width + k] / count - mean * mean);
            total += variance;
            if (variance > most) {
                most = variance;
                node.axis = k;
                node.border = origin[k] + mean;
            }
        }
        node.priority = count * std::sqrt(total);
        return node;
    }

    const Profile& profile_;
    Buffer<uint32_t>& order_;
    ThreadTeam& team_;
    RunContext& context_;
    uint64_t made_ = 0;
};

} // namespace

OuterStrata outer_strata(const VarianceTree& tree, ScoreKind kind, int count, uint64_t seed, ThreadTeam& team,
                         RunContext& context) {
    OuterStrata strata(context.memory());
    strata.rows.resize(tree.size());
    for (size_t i = 0; i < tree.size(); i++) strata.rows[i] = i;
    Profile profile = make_profile(tree, kind, team, context);
    const size_t max_strata = count, of_extremes = max_strata / 2;
    const std::vector<uint32_t> extremes =
        extreme_rows(tree, kind, profile, of_extremes * StratifiedMean::min_draws, context);
    standardise(tree, profile, team);
    // Strata of so few rows are drawn to the last.
    if (!extremes.empty())
        std::partition(strata.rows.begin(), strata.rows.end(), [&](uint32_t i) {
            context.worked(units_of_visit);
            return std::binary_search(extremes.begin(), extremes.end(), i);
        });
    for (size_t end = 0; end < extremes.size();)
        strata.borders.push_back(end = std::min<size_t>(extremes.size(), end + StratifiedMean::min_draws));
    uint64_t stream = 0;
    for (const Open& node :
         Splitting(profile, strata.rows, team, context).run(extremes.size(), max_strata - strata.count())) {
        strata.borders.push_back(node.end);
        RandomStream random(seed, ~stream++);
        for (size_t i = node.end; i-- > node.begin + 1;) {
            context.worked(4);
            std::swap(strata.rows[i], strata.rows[node.begin + random.below(i + 1 - node.begin)]);
        }
    }
    return strata;
}

} // namespace btml::monte_carlo
