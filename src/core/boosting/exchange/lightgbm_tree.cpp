#include "core/boosting/exchange/lightgbm_tree.hpp"

#include "core/boosting/trees/missing_values.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace btml::boosting {

static constexpr double max_count = 1e18; // of rows in a leaf

LightGbmTreeReader::LightGbmTreeReader(Reservation& held, RunContext& context)
    : held_(held),
      context_(context),
      split_feature_(context.memory(), what),
      left_child_(context.memory(), what),
      right_child_(context.memory(), what),
      decision_type_(context.memory(), what),
      threshold_(context.memory(), what),
      leaf_value_(context.memory(), what),
      leaf_count_(context.memory(), what),
      split_gain_(context.memory(), what),
      cat_boundaries_(context.memory(), what),
      cat_threshold_(context.memory(), what) {}

LineFields LightGbmTreeReader::fields() {
    return LineFields{"num_leaves",     "num_cat",       "split_feature", "split_gain", "threshold",
                      "decision_type",  "left_child",    "right_child",   "leaf_value", "leaf_count",
                      "cat_boundaries", "cat_threshold", "is_linear"};
}

Tree LightGbmTreeReader::read(const LineFields& fields, size_t line, size_t tree, CategoryNumbering& numbering,
                              std::vector<ZeroUse>& zeros) {
    const std::string where = format("The tree of line %zu", line);
    const LineValue& linear = fields.find("is_linear");
    if (linear && linear.text != "0")
        refuse_feature_of(lightgbm, "linear trees", "A leaf of theirs is a function of features, not a number.");
    const LineValue& claimed = fields.require("num_leaves", where);
    const auto leaves = number_of<size_t>(claimed.text, claimed.line, "num_leaves");
    if (leaves < 1 || leaves > INT32_MAX / 2) refuse_line(claimed.line, "num_leaves is out of range");
    read_arrays(fields, leaves, where);
    const Reservation nodes_held(context_.memory(), what, 2 * leaves * (sizeof(Node) + 3 * sizeof(int32_t)));
    held_.grow(2 * leaves * sizeof(Node) + 2 * sizeof(Tree));
    std::vector<Node> nodes;
    nodes.reserve(2 * leaves - 1);
    for (size_t i = 0; i + 1 < leaves; i++) {
        Node node = inner_node(i, leaves, line, zeros.size());
        const auto feature = static_cast<size_t>(node.feature);
        const bool categorical = decision_type_[i] & categorical_bit;
        numbering.split(feature, categorical);
        if (categorical)
            set_category_split(node, i, line);
        else
            set_number_split(node, i, line, zeros[feature]);
        nodes.push_back(std::move(node));
    }
    for (size_t i = 0; i < leaves; i++) nodes.push_back(leaf(i, line));
    const size_t count = nodes.size();
    Tree result = parents_first(std::move(nodes), lightgbm, tree, context_);
    if (result.size() != count)
        refuse_line(line, format("only %zu of the tree's %zu nodes are reached from its root", result.size(), count));
    return result;
}

Node LightGbmTreeReader::leaf(size_t i, size_t line) const {
    Node leaf;
    leaf.value = leaf_value_[i];
    leaf.rows = leaf_count_.empty() ? 0 : leaf_count_[i];
    if (!std::isfinite(leaf.value)) refuse_line(line, format("the value of leaf %zu of the tree is not finite", i));
    if (!(leaf.rows >= 0 && leaf.rows <= max_count))
        refuse_line(line, format("the count of leaf %zu of the tree is negative or too large", i));
    return leaf;
}

void LightGbmTreeReader::read_arrays(const LineFields& fields, size_t leaves, const std::string& where) {
    read_numbers(fields.require("leaf_value", where), "leaf_value", leaves, leaf_value_, context_);
    leaf_count_.resize(0);
    if (const LineValue& counts = fields.find("leaf_count"); counts && !(leaves == 1 && counts.text.empty()))
        read_numbers(counts, "leaf_count", leaves, leaf_count_, context_);
    if (leaves == 1) return;
    const auto read = [&](const char* key, auto& numbers) {
        read_numbers(fields.require(key, where), key, leaves - 1, numbers, context_);
    };
    read("split_feature", split_feature_);
    read("threshold", threshold_);
    read("decision_type", decision_type_);
    read("left_child", left_child_);
    read("right_child", right_child_);
    split_gain_.resize(0);
    if (const LineValue& gains = fields.find("split_gain"))
        read_numbers(gains, "split_gain", leaves - 1, split_gain_, context_);
    read_category_sets(fields, where);
}

// A set is a range of words of 32 bits.
void LightGbmTreeReader::read_category_sets(const LineFields& fields, const std::string& where) {
    cat_boundaries_.resize(0);
    cat_threshold_.resize(0);
    const LineValue& sets = fields.find("num_cat");
    const auto count = sets ? number_of<uint32_t>(sets.text, sets.line, "num_cat") : 0;
    if (count == 0) return;
    const LineValue& boundaries = fields.require("cat_boundaries", where);
    read_numbers(boundaries, "cat_boundaries", count + size_t{1}, cat_boundaries_, context_);
    for (size_t i = 0; i < cat_boundaries_.size(); i++)
        if (cat_boundaries_[i] < (i == 0 ? 0 : cat_boundaries_[i - 1]) || (i == 0 && cat_boundaries_[i] != 0))
            refuse_line(boundaries.line, "cat_boundaries do not ascend from 0");
    read_numbers(fields.require("cat_threshold", where), "cat_threshold", cat_boundaries_[count], cat_threshold_,
                 context_);
}

// Leaf i is child ~i there; here leaves come after the inner nodes.
Node LightGbmTreeReader::inner_node(size_t i, size_t leaves, size_t line, size_t features) const {
    const auto inner = static_cast<int32_t>(leaves - 1);
    const auto child = [&](int32_t number) {
        const bool valid = number >= 0 ? number < inner : ~number < inner + 1;
        if (!valid) refuse_line(line, format("node %zu of the tree has a child with the number %d", i, number));
        return number >= 0 ? number : inner + ~number;
    };
    Node node;
    node.left = child(left_child_[i]);
    node.right = child(right_child_[i]);
    node.feature = split_feature_[i];
    if (node.feature < 0 || static_cast<size_t>(node.feature) >= features)
        refuse_line(line, format("node %zu of the tree splits feature %d of %zu", i, node.feature, features));
    // Gains are told, not used; forced splits may have any.
    if (!split_gain_.empty() && std::isfinite(split_gain_[i])) node.gain = std::max(0.0, split_gain_[i]);
    return node;
}

// x ≤ t is x < the next number. Where NaN counts as 0, so does NULL.
void LightGbmTreeReader::set_number_split(Node& node, size_t i, size_t line, ZeroUse& zeros) const {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const double threshold = threshold_[i];
    const bool zero_left = 0 <= threshold, default_left = decision_type_[i] & default_left_bit;
    const int missing = decision_type_[i] >> missing_shift & 3;
    if (missing > static_cast<int>(MissingType::nan))
        refuse_line(line, format("decision_type %zu of the tree is %d", i, decision_type_[i]));
    const auto type = static_cast<MissingType>(missing);
    node.null_left = type == MissingType::none ? zero_left : default_left;
    node.threshold = threshold == infinity   ? std::numeric_limits<double>::quiet_NaN() // whatever is not NULL
                     : std::isnan(threshold) ? -infinity
                                             : std::nextafter(threshold, infinity);
    if (type == MissingType::zero) zeros.missing = true;
    // Zeros are of either sign, and need not be 0.
    const bool together = (-max_zero <= threshold) == (max_zero <= threshold);
    if (type != MissingType::zero && !(together && node.null_left == zero_left)) zeros.elsewhere = true;
}

void LightGbmTreeReader::set_category_split(Node& node, size_t i, size_t line) const {
    const double set = threshold_[i];
    if (!(set >= 0 && set + 1 < static_cast<double>(cat_boundaries_.size())) || set != std::floor(set))
        refuse_line(line, format("node %zu of the tree has no set of categories", i));
    const uint32_t begin = cat_boundaries_[static_cast<size_t>(set)],
                   end = cat_boundaries_[static_cast<size_t>(set) + 1];
    if (end - begin > INT32_MAX / 32) refuse_line(line, format("node %zu of the tree has too many categories", i));
    size_t count = 0;
    for (uint32_t word = begin; word < end; word++) count += static_cast<size_t>(std::popcount(cat_threshold_[word]));
    held_.grow(count * sizeof(uint32_t));
    node.categories.reserve(count);
    for (uint32_t word = begin; word < end; word++)
        for (uint32_t bit = 0; bit < 32; bit++)
            if (cat_threshold_[word] >> bit & 1) node.categories.push_back((word - begin) * 32 + bit);
    context_.worked(10 * (end - begin) + count);
}

} // namespace btml::boosting
