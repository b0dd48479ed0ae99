#include "core/boosting/held/distributed_set.hpp"

#include "core/boosting/rows/number_grid.hpp"

#include <bit>
#include <set>
#include <utility>

namespace btml::boosting {

namespace {

enum class Command : int64_t { start, split, fill, renew, add, finish };

// Holds a command and its arguments; what is not a whole number is there by its bits.
using Words = std::vector<int64_t>;

Words words_of(Command command, std::initializer_list<int64_t> arguments = {}) {
    Words words{static_cast<int64_t>(command)};
    words.insert(words.end(), arguments);
    return words;
}

int64_t bits_of(double x) {
    return std::bit_cast<int64_t>(x);
}

// Reads the arguments of a command.
class Arguments {
  public:
    explicit Arguments(const Words& words) : rest_(std::span(words).subspan(1)) {}

    int64_t next() {
        if (rest_.empty()) refuse_message();
        const int64_t word = rest_[0];
        rest_ = rest_.subspan(1);
        return word;
    }
    // Error internal where it is none of the type's.
    template <class T>
    T next_as() {
        const int64_t word = next();
        if (!std::in_range<T>(word)) refuse_message();
        return static_cast<T>(word);
    }
    double next_number() { return std::bit_cast<double>(next()); }
    bool is_done() const { return rest_.empty(); }
    // All that are left.
    template <class T>
    std::vector<T> rest() {
        std::vector<T> values;
        while (!is_done()) values.push_back(next_as<T>());
        return values;
    }

  private:
    std::span<const int64_t> rest_;
};

template <class Sum>
const std::byte* add_from(const std::byte* bytes, Buffer<Sum>& sums) {
    for (Sum& sum : sums) {
        Sum part;
        std::memcpy(&part, bytes, sizeof(part));
        sum += part;
        bytes += sizeof(part);
    }
    return bytes;
}

Bytes histogram(EnumeratedSet& set, int node, bool has_tallies, RunContext& context) {
    const size_t bins = set.layout().bins();
    Histogram own(bins, has_tallies, context);
    set.fill(node, own);
    Bytes bytes(bins * (sizeof(Stats) + (has_tallies ? sizeof(Tally) : 0)));
    if (bins > 0) std::memcpy(bytes.data(), own.sums.data(), bins * sizeof(Stats));
    if (own.has_tallies()) std::memcpy(&bytes[bins * sizeof(Stats)], own.tallies.data(), bins * sizeof(Tally));
    return bytes;
}

} // namespace

int DistributedSet::start(uint64_t iteration, int score, const std::vector<int>& features) {
    Words words = words_of(Command::start, {static_cast<int64_t>(iteration), score});
    words.insert(words.end(), features.begin(), features.end());
    peers_.tell(to_bytes(words));
    nodes_.clear();
    nodes_.push_back({train_rows()});
    expected_.clear();
    return own_.start(iteration, score, features);
}

void DistributedSet::split_everywhere(int node, const Split& split) {
    Words words = words_of(Command::split, {node, split.feature, split.null_left, split.last_bin});
    words.insert(words.end(), split.categories.begin(), split.categories.end());
    peers_.tell(to_bytes(words));
    const TrainingRows& training = scores().rows()->training();
    const uint64_t parent = nodes_[node].rows;
    auto left = static_cast<uint64_t>(split.left.count());
    uint64_t right = parent - left;
    if (training.weighted()) {
        const double part = static_cast<double>(split.left.count()) / static_cast<double>(training.train_count());
        // A node of one row is not looked at, which an estimate must not bring about.
        left = std::max<uint64_t>(2, static_cast<uint64_t>(part * static_cast<double>(train_rows())));
        right = std::max<uint64_t>(2, parent - std::min(parent, left));
    }
    std::tie(nodes_[node].left, nodes_[node].right) = own_.split(node, split);
    nodes_.push_back({left});
    nodes_.push_back({right});
}

std::pair<int, int> DistributedSet::split(int node, const Split& split) {
    if (nodes_[node].left < 0) split_everywhere(node, split);
    return {nodes_[node].left, nodes_[node].right};
}

// Returns the nodes whose histograms will be wanted.
std::vector<int> DistributedSet::split_as_expected() {
    std::vector<int> wanted;
    for (const auto& [node, split] : std::exchange(expected_, {})) {
        if (nodes_[node].left >= 0) continue;
        split_everywhere(node, split);
        const int left = nodes_[node].left, right = nodes_[node].right;
        wanted.push_back(rows(left) <= rows(right) ? left : right);
    }
    return wanted;
}

void DistributedSet::ask_for_histogram(int node) {
    peers_.tell(to_bytes(words_of(Command::fill, {node, has_tallies_})));
}

Histogram DistributedSet::hear_histogram() {
    const size_t bins = layout().bins();
    Histogram histogram(bins, has_tallies_, context_);
    std::fill(histogram.sums.begin(), histogram.sums.end(), Stats{});
    std::fill(histogram.tallies.begin(), histogram.tallies.end(), Tally{});
    for (size_t other = 0; other < peers_.others(); other++) {
        const Bytes bytes = peers_.answer_of(other);
        if (bytes.size() != bins * (sizeof(Stats) + (has_tallies_ ? sizeof(Tally) : 0))) refuse_message();
        add_from(add_from(bytes.data(), histogram.sums), histogram.tallies);
    }
    return histogram;
}

void DistributedSet::fill(int node, Histogram& to) {
    if (!nodes_[node].histogram) {
        ask_for_histogram(node);
        const std::vector<int> wanted = split_as_expected();
        for (const int other : wanted) ask_for_histogram(other);
        nodes_[node].histogram = hear_histogram();
        for (const int other : wanted) nodes_[other].histogram = hear_histogram();
    }
    const Histogram& histogram = *nodes_[node].histogram;
    std::copy(histogram.sums.begin(), histogram.sums.end(), to.sums.begin());
    std::copy(histogram.tallies.begin(), histogram.tallies.end(), to.tallies.begin());
    nodes_[node].histogram.reset();
}

// The nodes that a leaf's rows are in: itself, unless it was split ahead and the split was not wanted.
std::vector<int> DistributedSet::parts_of(int node) const {
    if (nodes_[node].left < 0) return {node};
    std::vector<int> parts = parts_of(nodes_[node].left);
    const std::vector<int> right = parts_of(nodes_[node].right);
    parts.insert(parts.end(), right.begin(), right.end());
    return parts;
}

int64_t DistributedSet::renewed_value(std::span<const int> nodes, const LeafRule& rule) {
    std::vector<int> parts;
    for (const int node : nodes)
        for (const int part : parts_of(node)) parts.push_back(part);
    Words words = words_of(Command::renew, {bits_of(rule.learning_rate), bits_of(rule.l1), bits_of(rule.l2),
                                            bits_of(rule.lower), bits_of(rule.upper)});
    words.insert(words.end(), parts.begin(), parts.end());
    peers_.tell(to_bytes(words));
    return own_.renewed_value(parts, rule);
}

void DistributedSet::add(const std::vector<Leaf>& leaves) {
    std::vector<Leaf> parts;
    Words words = words_of(Command::add);
    for (const Leaf& leaf : leaves)
        for (const int part : parts_of(leaf.node)) {
            parts.push_back({part, {}, leaf.value});
            words.insert(words.end(), {part, leaf.value});
        }
    peers_.tell(to_bytes(words));
    own_.add(parts);
}

void DistributedSet::finish() {
    peers_.tell(to_bytes(words_of(Command::finish)));
    peers_.flush();
}

// Error internal for what no coordinator asks for.
static void require_valid(bool is_valid) {
    if (!is_valid) refuse_message();
}

static void check_split(const EnumeratedSet& set, const Split& split) {
    require_valid(split.feature >= 0 && static_cast<size_t>(split.feature) < set.features().size());
    const FeatureBins& feature = set.features()[static_cast<size_t>(split.feature)];
    require_valid(feature.categorical ||
                  (split.last_bin >= -1 && split.last_bin < static_cast<int64_t>(feature.size())));
    for (const uint32_t category : split.categories) require_valid(feature.categorical && category < feature.values);
}

void serve(EnumeratedSet& set, Holder& peers, RunContext& context) {
    std::set<int> split_nodes;
    const auto check_leaf = [&](int node) {
        require_valid(node >= 0 && node < set.nodes() && !split_nodes.contains(node));
    };
    for (;;) {
        context.poll();
        Words words;
        from_bytes(peers.listen(), words);
        if (words.empty()) refuse_message();
        Arguments arguments(words);
        switch (static_cast<Command>(words[0])) {
        case Command::start: {
            const auto iteration = static_cast<uint64_t>(arguments.next());
            const int score = arguments.next_as<int>();
            const auto features = arguments.rest<int>();
            require_valid(score >= 0 && static_cast<size_t>(score) < set.scores().bases().size());
            for (size_t i = 0; i < features.size(); i++)
                require_valid(features[i] > (i > 0 ? features[i - 1] : -1) &&
                              static_cast<size_t>(features[i]) < set.features().size());
            set.start(iteration, score, features);
            split_nodes.clear();
            break;
        }
        case Command::split: {
            const int node = arguments.next_as<int>();
            Split split;
            split.feature = arguments.next_as<int>();
            split.null_left = arguments.next() != 0;
            split.last_bin = arguments.next();
            split.categories = arguments.rest<uint32_t>();
            check_leaf(node);
            check_split(set, split);
            split_nodes.insert(node);
            set.split(node, split);
            break;
        }
        case Command::fill: {
            const int node = arguments.next_as<int>();
            check_leaf(node);
            peers.answer(histogram(set, node, arguments.next() != 0, context));
            break;
        }
        case Command::renew: {
            LeafRule rule;
            for (double* const number : {&rule.learning_rate, &rule.l1, &rule.l2, &rule.lower, &rule.upper})
                *number = arguments.next_number();
            const auto nodes = arguments.rest<int>();
            for (const int node : nodes) check_leaf(node);
            set.renewed_value(nodes, rule);
            break;
        }
        case Command::add: {
            std::vector<TrainingSet::Leaf> leaves;
            while (!arguments.is_done()) {
                const int node = arguments.next_as<int>();
                check_leaf(node);
                const int64_t value = arguments.next();
                require_valid(set.scores().is_value(value));
                leaves.push_back({node, {}, value});
            }
            set.add(leaves);
            break;
        }
        case Command::finish:
            return;
        default:
            refuse_message();
        }
    }
}

} // namespace btml::boosting
