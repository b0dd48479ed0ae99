#include "core/monte_carlo/variance_tree.hpp"

#include <cmath>
#include <queue>

namespace btml::monte_carlo {

namespace {

constexpr size_t pieces = 64;         // subtrees that the team shares, about
constexpr size_t min_piece = 1 << 14; // rows
constexpr size_t min_share = 32;      // of a node's rows, one in as many at least goes to the smaller child

} // namespace

// Grows one subtree; its nodes are numbered from `offset`.
class VarianceTree::Builder {
  public:
    // context: null away from the main thread.
    Builder(ScoreRows& rows, double target_sd, RunContext* context)
        : rows_(rows), width_(rows.width()), target_sd_(target_sd), context_(context) {}

    Node make(uint32_t begin, uint32_t end) {
        measure(begin, end);
        const size_t d = rows_.dimensions;
        const size_t axis = std::max_element(variance_.begin(), variance_.begin() + d) - variance_.begin();
        plans_.push_back({axis, mean_[axis], min_[axis], max_[axis]});
        boxes_.insert(boxes_.end(), min_.begin(), min_.begin() + d);
        boxes_.insert(boxes_.end(), max_.begin(), max_.begin() + d);
        double spread = 0;
        if (rows_.target && target_sd_ > 0)
            spread = std::min(1.0, std::sqrt(variance_[d] / (end - begin)) / target_sd_);
        return {begin, end, 0, static_cast<float>(spread)};
    }

    // Splits the nodes from the first on that have more than `smallest` rows, and all below them.
    void grow(std::vector<Node>& nodes, size_t smallest) {
        for (size_t at = 0; at < nodes.size(); at++) {
            const auto [begin, end, children, spread] = nodes[at];
            if (end - begin <= smallest) continue;
            const uint32_t middle = split(begin, end, plans_[at]);
            nodes[at].children = nodes.size();
            nodes.push_back(make(begin, middle));
            nodes.push_back(make(middle, end));
        }
    }

    std::vector<double> boxes_; // of the nodes made, in their order

  private:
    // How a node is to be split.
    struct Plan {
        size_t axis;
        double mean, least, most; // of the coordinate
    };

    // The first row of the right child. Points that are all the same are split in the middle.
    uint32_t split(uint32_t begin, uint32_t end, const Plan& plan) {
        if (!(plan.most > plan.least)) return begin + (end - begin) / 2;
        const uint32_t middle = partition(begin, end, plan.axis, plan.mean);
        const uint32_t fewest = std::max<uint32_t>(1, (end - begin) / min_share);
        if (std::min(middle - begin, end - middle) >= fewest) return middle;
        return partition(begin, end, plan.axis, near_median(begin, end, plan));
    }

    // Means, sums of squared deviations and range of each column.
    void measure(uint32_t begin, uint32_t end) {
        const double* const origin = rows_.row(begin);
        mean_.assign(width_, 0.0);
        variance_.assign(width_, 0.0);
        min_.assign(origin, origin + width_);
        max_ = min_;
        for (size_t i = begin; i < end; i++) {
            if (context_) context_->worked(4);
            const double* const row = rows_.row(i);
            for (size_t k = 0; k < width_; k++) {
                const double x = row[k], shifted = x - origin[k];
                mean_[k] += shifted;
                variance_[k] += shifted * shifted;
                min_[k] = std::min(min_[k], x);
                max_[k] = std::max(max_[k], x);
            }
        }
        const double count = end - begin;
        for (size_t k = 0; k < width_; k++) {
            const double mean = mean_[k] / count;
            variance_[k] = std::max(0.0, variance_[k] - count * mean * mean);
            mean_[k] = origin[k] + mean;
        }
    }

    // Rows with a coordinate below `border` come first; returns the first of the others.
    uint32_t partition(uint32_t begin, uint32_t end, size_t axis, double border) {
        double* low = rows_.values.data() + begin * width_;
        double* high = rows_.values.data() + end * width_;
        while (low < high) {
            if (low[axis] < border) {
                low += width_;
            } else {
                high -= width_;
                std::swap_ranges(low, low + width_, high);
            }
        }
        return (low - rows_.values.data()) / width_;
    }

    // A border that leaves about half of the rows below it, and at least one on each side.
    double near_median(uint32_t begin, uint32_t end, const Plan& plan) {
        column_.clear();
        const size_t stride = std::max<size_t>(1, (end - begin) / 1024);
        for (size_t i = begin; i < end; i += stride) column_.push_back(rows_.row(i)[plan.axis]);
        const auto middle = column_.begin() + (column_.size() / 2);
        std::nth_element(column_.begin(), middle, column_.end());
        if (*middle > plan.least) return *middle;
        // The least value is that of half of the rows: it goes to the left, all others to the right.
        double border = plan.most;
        for (size_t i = begin; i < end; i++)
            if (const double x = rows_.row(i)[plan.axis]; x > plan.least) border = std::min(border, x);
        return border;
    }

    ScoreRows& rows_;
    const size_t width_;
    const double target_sd_;
    RunContext* const context_;
    std::vector<Plan> plans_;
    std::vector<double> mean_, variance_, min_, max_, column_;
};

VarianceTree::VarianceTree(ScoreRows rows, ThreadTeam& team, RunContext& context)
    : rows_(std::move(rows)), nodes_(context.memory(), "a kd-tree"), boxes_(context.memory(), "a kd-tree") {
    const uint32_t n = rows_.size();
    if (n == 0) return;
    double squares = 0;
    if (rows_.target)
        for (size_t i = 0; i < n; i++) squares += target(i) * target(i);
    const double target_sd = std::sqrt(squares / n);
    Builder top(rows_, target_sd, &context);
    std::vector<Node> nodes{top.make(0, n)};
    top.grow(nodes, std::max<size_t>(n / pieces, min_piece));
    std::vector<size_t> unfinished;
    for (size_t i = 0; i < nodes.size(); i++)
        if (nodes[i].children == 0) unfinished.push_back(i);
    struct Subtree {
        std::vector<Node> nodes; // the root is the first, and is one of the nodes above too
        std::vector<double> boxes;
    };
    std::vector<Subtree> subtrees(unfinished.size());
    team.for_each(
        unfinished.size(),
        [&](size_t item, int) {
            Builder builder(rows_, target_sd, nullptr);
            Subtree& subtree = subtrees[item];
            subtree.nodes.push_back(builder.make(nodes[unfinished[item]].begin, nodes[unfinished[item]].end));
            builder.grow(subtree.nodes, leaf_rows);
            subtree.boxes = std::move(builder.boxes_);
        },
        [&] { context.poll(); });
    for (const Node& node : nodes) nodes_.push_back(node);
    for (const double x : top.boxes_) boxes_.push_back(x);
    for (size_t item = 0; item < subtrees.size(); item++) {
        const Subtree& subtree = subtrees[item];
        const size_t offset = nodes_.size() - 1; // its nodes but the root follow
        const auto moved = [&](Node node) {
            if (node.children) node.children += offset;
            return node;
        };
        nodes_[unfinished[item]] = moved(subtree.nodes[0]);
        nodes_.reserve(nodes_.size() + subtree.nodes.size());
        for (size_t i = 1; i < subtree.nodes.size(); i++) nodes_.append_reserved(moved(subtree.nodes[i]));
        boxes_.reserve(boxes_.size() + subtree.boxes.size());
        for (size_t i = 2 * rows_.dimensions; i < subtree.boxes.size(); i++) boxes_.append_reserved(subtree.boxes[i]);
        subtrees[item] = {};
    }
}

template <class Metric>
std::vector<uint32_t> VarianceTree::nearest(size_t position, size_t count) const {
    using Found = std::pair<double, uint32_t>; // has the sum over the coordinates for a row or a node
    const double* const point = row(position);
    std::priority_queue<Found> found;
    std::priority_queue<Found, std::vector<Found>, std::greater<>> open;
    const auto is_nearer = [&](double distance) { return found.size() < count || distance < found.top().first; };
    open.emplace(0, 0);
    while (!open.empty() && is_nearer(open.top().first)) {
        const Node& at = nodes_[open.top().second];
        open.pop();
        for (uint32_t child = at.children; at.children != 0 && child < at.children + 2; child++)
            open.emplace(bounds<Metric>(child, point).least, child);
        for (uint32_t j = at.begin; at.children == 0 && j < at.end; j++) {
            const double distance = pairwise::sum_of<Metric>(point, row(j), rows_.dimensions);
            if (j == position || !is_nearer(distance)) continue;
            if (found.size() == count) found.pop();
            found.emplace(distance, j);
        }
    }
    std::vector<uint32_t> rows;
    for (; !found.empty(); found.pop()) rows.push_back(found.top().second);
    return rows;
}

template std::vector<uint32_t> VarianceTree::nearest<pairwise::Squares>(size_t, size_t) const;
template std::vector<uint32_t> VarianceTree::nearest<pairwise::Absolutes>(size_t, size_t) const;

} // namespace btml::monte_carlo
