#include "core/boosting/growing/grower.hpp"

#include <cmath>

namespace btml::boosting {

static constexpr uint64_t histogram_memory = uint64_t{64} << 20; // kept for open leaves, unless 8 need more
static constexpr size_t min_shared_bins = 1024; // fewer bins than this are not worth waking a thread for

// Histograms to keep at most, one per leaf.
static size_t histograms_to_keep(uint64_t bins, const Options& options) {
    if (bins == 0) return 0;
    const size_t by_memory = std::max<size_t>(8, histogram_memory / (bins * sizeof(Stats)));
    return options.max_leaves > 0 ? std::min<size_t>(by_memory, options.max_leaves) : by_memory;
}
// The same where it takes little time to fill those of nodes with fewer rows than a histogram has bins.
static size_t histograms_to_keep(uint64_t bins, uint64_t rows, const Options& options) {
    return bins == 0 ? 0 : std::min<size_t>(histograms_to_keep(bins, options), rows / bins + 1);
}

static uint64_t bytes_of_histogram(uint64_t bins, const Options& options) {
    return bins * (sizeof(Stats) + (needs_tallies(options) ? sizeof(Tally) : 0));
}

TreeGrower::TreeGrower(TrainingSet& training, const Options& options, ThreadTeam& team, RunContext& context)
    : training_(training),
      options_(options),
      team_(team),
      context_(context),
      room_(context.memory().left() / 4),
      tree_memory_(context.memory(), "trees") {
    const auto& all = training.features();
    if (std::any_of(all.begin(), all.end(), [](const FeatureBins& feature) { return feature.direction != 0; }))
        for (const FeatureBins& feature : all) directions_.push_back(feature.direction);
}

uint64_t TreeGrower::histogram_bytes(uint64_t bins, uint64_t rows, const Options& options) {
    return (histograms_to_keep(bins, rows, options) + 2) * bytes_of_histogram(bins, options);
}

// Where others are asked, each is worth keeping for which there is memory.
size_t TreeGrower::histograms_to_keep_of(int root) const {
    const size_t bins = layout().max_bins(), least = histograms_to_keep(bins, training_.rows(root), options_);
    if (bins == 0 || !training_.asks_others()) return least;
    return std::clamp<size_t>(room_ / bytes_of_histogram(bins, options_), least, histograms_to_keep(bins, options_));
}

int TreeGrower::take_histogram() {
    if (!free_histograms_.empty()) {
        const int histogram = free_histograms_.back();
        free_histograms_.pop_back();
        return histogram;
    }
    histograms_.emplace_back(layout().max_bins(), needs_tallies(options_), context_);
    return static_cast<int>(histograms_.size() - 1);
}

void TreeGrower::release_histogram(int histogram) {
    if (histogram >= 0) free_histograms_.push_back(histogram);
}

void TreeGrower::build_histogram(int node, int histogram) {
    const Stopwatch watch(clock_.histograms);
    training_.fill(node, histograms_[histogram]);
}

void TreeGrower::subtract_histogram(int from, int what) {
    Histogram& target = histograms_[from];
    const Histogram& part = histograms_[what];
    const bool has_tallies = target.has_tallies();
    for (size_t b = 0; b < layout().bins(); b++) {
        target.sums[b] -= part.sums[b];
        if (has_tallies) target.tallies[b] -= part.tallies[b];
        if (units_.exact || (has_tallies ? target.tallies[b].count : target.sums[b].hessian) > units_.slack) continue;
        target.sums[b] = {}; // what rounding left of a bin without rows
        if (has_tallies) target.tallies[b] = {};
    }
}

NodeSums TreeGrower::sum_up(int node, int histogram) {
    if (histogram < 0) return training_.wide_features()->sum(node);
    const Histogram& source = histograms_[histogram];
    NodeSums sums;
    for (size_t b = 0; b < feature(layout().selected()[0]).size(); b++)
        sums += NodeSums(source.sums[b], source.tallies.empty() ? nullptr : &source.tallies[b]);
    return sums;
}

bool TreeGrower::may_split(const Leaf& leaf) const {
    return (options_.max_depth == 0 || leaf.depth < options_.max_depth) && training_.rows(leaf.rows) >= 2 &&
           rules_->may_split(leaf.sums.count());
}

void TreeGrower::close(const Leaf& leaf) {
    // A tree is not made of what rounding leaves of the mean of all rows.
    const bool is_idle = leaf.node == 0 && rules_->is_centred(leaf.sums.total);
    const LeafRule rule{options_.learning_rate, options_.l1, options_.l2, std::ldexp(leaf.bounds.lower, -units_.grid),
                        std::ldexp(leaf.bounds.upper, -units_.grid)};
    const int64_t value = is_idle ? 0 : training_.scores().leaf_value(leaf.sums.total, rule);
    tree_[leaf.node].value = training_.scores().to_number(value);
    leaves_.push_back({leaf.rows, leaf.sums, value});
    leaf_nodes_.push_back(leaf.node);
}

// Where values must have an order, neither side's may pass the middle between those of both (Bartley, Liu, Reynolds:
// Enhanced Random Forest Algorithms for Partially Monotone Ordinal Classification, 2019, has it as the basic method).
std::pair<Bounds, Bounds> TreeGrower::bounds_of_children(const Leaf& leaf) const {
    Bounds left = leaf.bounds, right = leaf.bounds;
    const int direction = directions_.empty() ? 0 : directions_[leaf.split.feature];
    if (direction == 0) return {left, right};
    const Stats on_left = leaf.split.left.total, on_right = (leaf.sums - leaf.split.left).total;
    const double middle = (rules_->value(on_left, leaf.bounds) + rules_->value(on_right, leaf.bounds)) / 2;
    (direction > 0 ? left : right).upper = (direction > 0 ? right : left).lower = middle;
    return {left, right};
}

std::vector<TreeGrower::LeavesBelow> TreeGrower::leaves_below() const {
    std::vector<LeavesBelow> below(tree_.size());
    for (const int node : leaf_nodes_) below[node].count = 1;
    for (size_t n = tree_.size(); n-- > 1;) below[tree_[n].parent].count += below[n].count;
    for (size_t n = 0; n < tree_.size(); n++) {
        if (tree_[n].is_leaf()) continue;
        LeavesBelow &left = below[tree_[n].left], &right = below[tree_[n].right];
        left.begin = below[n].begin;
        right.begin = left.begin + left.count;
    }
    return below;
}

// Values of leaves that follow from their rows are found when the tree is grown. Where they must have an order, a
// node's children may not pass the middle between the values that both would have as leaves.
void TreeGrower::renew_leaves() {
    const Reservation scratch(context_.memory(), "leaves to renew",
                              tree_.size() * (sizeof(LeavesBelow) + sizeof(LeafRule)) +
                                  leaves_.size() * (sizeof(int) + sizeof(const RowSet*)));
    const std::vector<LeavesBelow> below = leaves_below();
    std::vector<int> sets(leaves_.size()); // of rows, the leaves below any node side by side
    for (size_t i = 0; i < leaves_.size(); i++) sets[below[leaf_nodes_[i]].begin] = leaves_[i].node;
    const auto value_of = [&](int node, const LeafRule& rule) {
        return training_.renewed_value(std::span(sets).subspan(below[node].begin, below[node].count), rule);
    };
    LeafRule any{.learning_rate = options_.learning_rate, .l1 = options_.l1, .l2 = options_.l2};
    if (options_.max_step) any.lower = -(any.upper = *options_.max_step);
    std::vector<LeafRule> rules(tree_.size(), any);
    if (!directions_.empty())
        for (size_t n = 0; n < tree_.size(); n++)
            if (!tree_[n].is_leaf()) bound_children(tree_[n], rules[n], value_of, rules);
    for (size_t i = 0; i < leaves_.size(); i++) {
        const int node = leaf_nodes_[i];
        leaves_[i].value = value_of(node, rules[node]);
        tree_[node].value = training_.scores().to_number(leaves_[i].value);
    }
}

template <class ValueOf>
void TreeGrower::bound_children(const Node& node, LeafRule rule, const ValueOf& value_of,
                                std::vector<LeafRule>& rules) const {
    rules[node.left] = rules[node.right] = rule;
    const int direction = directions_[node.feature];
    if (direction == 0) return;
    rule.learning_rate = 1;
    const auto value = [&](int child) { return training_.scores().to_number(value_of(child, rule)); };
    const double middle = (value(node.left) + value(node.right)) / 2;
    rules[direction > 0 ? node.left : node.right].upper = rules[direction > 0 ? node.right : node.left].lower = middle;
}

// The node's squares are the feature's own sum, as both sides' are, in case they are estimated.
void TreeGrower::search_histogram(NodeSums node, const Bounds& bounds, const Histogram& histogram, int f,
                                  Searched& result) {
    const Stats* sums = histogram.sums.data() + layout().offset(f);
    const Tally* tallies = histogram.tallies.empty() ? nullptr : histogram.tallies.data() + layout().offset(f);
    const uint32_t values = feature(f).values;
    node.tally.squares = 0;
    for (size_t bin = 0; tallies && bin <= values; bin++) node.tally.squares += tallies[bin].squares;
    const DenseBins bins{sums, tallies, 0, values};
    SplitSearch(*rules_, node, bounds, directions_)
        .scan(f, feature(f).categorical, bins, bins.sums(values), result.order, result.found, context_);
}

// Long searches poll, which the main thread alone may do.
bool TreeGrower::may_share(int f) const {
    return layout().holds(f) && feature(f).size() <= max_histogram_bins;
}

// Returns what each feature of this tree offers; the threads share the features out. Those that have no histogram are
// left empty.
std::vector<TreeGrower::Searched> TreeGrower::search_histograms(const SplitSearch& search, const Leaf& leaf,
                                                                int histogram) {
    const size_t count = features_.size();
    std::vector<Searched> results(count, {search.no_candidates(), {}});
    if (histogram < 0) return results;
    const Histogram& sums = histograms_[histogram];
    const size_t max_occupied = std::min<size_t>(layout().bins(), training_.rows(leaf.rows) * count);
    const size_t pieces = max_occupied < min_shared_bins ? 1 : count;
    team_.for_each(pieces, [&](size_t piece, int) {
        for (size_t i = piece; i < count; i += pieces)
            if (may_share(features_[i])) search_histogram(leaf.sums, leaf.bounds, sums, features_[i], results[i]);
    });
    for (size_t i = 0; i < count; i++)
        if (layout().holds(features_[i]) && !may_share(features_[i]))
            search_histogram(leaf.sums, leaf.bounds, sums, features_[i], results[i]);
    return results;
}

// Finds the leaf's best split and keeps it open, or closes it. Takes over the histogram.
void TreeGrower::find_split(Leaf& leaf, int histogram) {
    const Stopwatch watch(clock_.splits);
    if (histogram >= 0 && !training_.adds_up()) leaf.sums.tally.squares = sum_up(leaf.rows, histogram).tally.squares;
    const SplitSearch search(*rules_, leaf.sums, leaf.bounds, directions_);
    std::vector<Searched> results = search_histograms(search, leaf, histogram);
    Candidates found = search.no_candidates();
    for (size_t i = 0; i < features_.size(); i++) {
        if (!layout().holds(features_[i]))
            training_.wide_features()->search(features_[i], leaf.rows, search, results[i].order, results[i].found);
        found.add(results[i].found);
        if (!found.ends_with(features_[i])) results[i].order = {}; // it cannot win
    }
    if (found.empty()) {
        release_histogram(histogram);
        close(leaf);
        return;
    }
    const Candidate& best = found.winner();
    leaf.split = {best.feature, best.gain, best.left, best.null_left, best.last, {}};
    const auto place = std::find(features_.begin(), features_.end(), best.feature) - features_.begin();
    const std::vector<BinSums>& order = results[place].order;
    if (!order.empty()) {
        const auto first = best.last < 0 ? order.end() + best.last : order.begin();
        for (auto cell = first; cell != first + std::abs(best.last); ++cell) leaf.split.categories.push_back(cell->bin);
    }
    std::sort(leaf.split.categories.begin(), leaf.split.categories.end());
    const size_t taken = histograms_.size() - free_histograms_.size();
    const bool of_use = training_.adds_up() && (training_.asks_others() || training_.rows(leaf.rows) > layout().bins());
    if (histogram >= 0 && of_use && taken <= max_histograms_)
        leaf.histogram = histogram;
    else
        release_histogram(histogram);
    by_gain_.emplace(-best.gain, leaf.node);
    open_.emplace(leaf.node, leaf);
    if (children_may_split(leaf)) training_.expect(leaf.rows, leaf.split);
}

bool TreeGrower::children_may_split(const Leaf& leaf) const {
    const bool at_depth = options_.max_depth > 0 && leaf.depth + 1 >= options_.max_depth;
    return !at_depth && (rules_->may_split(leaf.split.left.count()) ||
                         rules_->may_split(leaf.sums.count() - leaf.split.left.count()));
}

// The open leaf with the largest gain, the lowest node of those within a tie; without a limit on leaves, where the
// order changes nothing but the numbers of nodes, level by level.
TreeGrower::Leaf TreeGrower::take_next_leaf() {
    int node = open_.begin()->first;
    if (options_.max_leaves > 0) {
        const double least = -by_gain_.begin()->first * (1 - relative_tie);
        node = by_gain_.begin()->second;
        for (const auto& [negative_gain, other] : by_gain_) {
            if (-negative_gain < least) break;
            node = std::min(node, other);
        }
    }
    auto handle = open_.extract(node);
    by_gain_.erase({-handle.mapped().split.gain, node});
    return std::move(handle.mapped());
}

void TreeGrower::write_split(const Split& split, Node& node) const {
    const FeatureBins& bins = feature(split.feature);
    node.feature = split.feature;
    node.null_left = split.null_left;
    node.categories = split.categories;
    if (!bins.categorical)
        node.threshold =
            split.last_bin < 0 ? -std::numeric_limits<double>::infinity() : bins.thresholds[split.last_bin];
    const double gain = std::ldexp(split.gain, -2 * units_.grid - units_.shift);
    node.gain = std::min(gain, std::numeric_limits<double>::max());
}

void TreeGrower::expand(Leaf leaf) {
    if (tree_.size() > (size_t{1} << 30))
        throw Error(ErrorCode::limit_exceeded, "a tree has more than 2^30 nodes", {}, "Set max_leaves or max_depth.");
    tree_memory_.grow(2 * (sizeof(Node) + sizeof(TrainingSet::Leaf)) + leaf.split.categories.size() * sizeof(uint32_t));
    const auto [left_rows, right_rows] = split_rows(leaf.rows, leaf.split);
    const auto [left_bounds, right_bounds] = bounds_of_children(leaf);
    Leaf left{static_cast<int>(tree_.size()), leaf.depth + 1, left_rows, leaf.split.left, left_bounds, {}, -1};
    Leaf right{left.node + 1, leaf.depth + 1, right_rows, leaf.sums - left.sums, right_bounds, {}, -1};

    Node& node = tree_[leaf.node];
    write_split(leaf.split, node);
    node.left = left.node;
    node.right = right.node;
    for (const Leaf* child : {&left, &right}) {
        Node& added = tree_.emplace_back();
        added.parent = leaf.node;
        added.rows = std::ldexp(child->sums.count(), -units_.count_scale);
    }
    leaf_count_++;
    if (options_.max_leaves > 0 && leaf_count_ >= options_.max_leaves) {
        release_histogram(leaf.histogram);
        close(left);
        close(right);
    } else {
        open_children(std::move(left), std::move(right), leaf.histogram);
    }
}

// Looks for the children's splits, or closes them. The smaller child's histogram is built from its rows; the larger
// one's is what is left of the parent's.
void TreeGrower::open_children(Leaf left, Leaf right, int parent) {
    const bool left_small = training_.rows(left.rows) <= training_.rows(right.rows);
    Leaf& small = left_small ? left : right;
    Leaf& large = left_small ? right : left;
    const bool small_may = may_split(small), large_may = may_split(large);
    int small_histogram = -1, large_histogram = -1;
    if (layout().bins() > 0 && (small_may || large_may)) {
        const bool subtract = parent >= 0 && large_may && training_.adds_up();
        if (small_may || subtract) {
            small_histogram = take_histogram();
            build_histogram(small.rows, small_histogram);
        }
        if (subtract) {
            large_histogram = std::exchange(parent, -1);
            subtract_histogram(large_histogram, small_histogram);
        } else if (large_may) {
            large_histogram = take_histogram();
            build_histogram(large.rows, large_histogram);
        }
        if (!small_may) release_histogram(std::exchange(small_histogram, -1));
    }
    release_histogram(parent);
    for (auto [leaf, may, histogram] :
         {std::tuple(&small, small_may, small_histogram), std::tuple(&large, large_may, large_histogram)}) {
        if (may)
            find_split(*leaf, histogram);
        else
            close(*leaf);
    }
}

std::pair<int, int> TreeGrower::split_rows(int node, const Split& split) {
    const Stopwatch watch(clock_.partition);
    return training_.split(node, split);
}

int TreeGrower::start(uint64_t iteration, int score) {
    const Stopwatch watch(clock_.starting);
    return training_.start(iteration, score, features_);
}

Tree TreeGrower::grow(uint64_t iteration, int score, const std::vector<int>& features) {
    features_ = features;
    const int root_rows = start(iteration, score);
    max_histograms_ = histograms_to_keep_of(root_rows);
    units_ = training_.scores().units();
    rules_.emplace(options_, units_);
    tree_.assign(1, {});
    leaves_.clear();
    leaf_nodes_.clear();
    leaf_count_ = 1;

    // Gradients of leaves that are renewed are not in the units of their values.
    const Bounds bounds = training_.renews() ? Bounds{} : rules_->steps;
    Leaf root{0, 0, root_rows, {}, bounds, {}, -1};
    int histogram = -1;
    if (layout().bins() > 0) {
        histogram = take_histogram();
        build_histogram(root.rows, histogram);
    }
    root.sums = sum_up(root.rows, histogram);
    tree_[0].rows = std::ldexp(root.sums.count(), -units_.count_scale);
    if (may_split(root)) {
        find_split(root, histogram);
    } else {
        release_histogram(histogram);
        close(root);
    }
    while (!open_.empty()) {
        context_.poll();
        Leaf leaf = take_next_leaf();
        if (options_.max_leaves > 0 && leaf_count_ >= options_.max_leaves) {
            release_histogram(leaf.histogram);
            close(leaf);
        } else {
            expand(std::move(leaf));
        }
    }
    if (training_.renews()) renew_leaves();
    return std::move(tree_);
}

} // namespace btml::boosting
