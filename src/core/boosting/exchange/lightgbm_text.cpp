#include "core/boosting/exchange/lightgbm_text.hpp"

#include "core/boosting/exchange/lightgbm_categories.hpp"
#include "core/boosting/trees/missing_values.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace btml::boosting {

namespace {

[[noreturn]] void refuse(std::string detail) {
    refuse_model(lightgbm, std::move(detail));
}

constexpr double max_count = 1e18; // of rows in a leaf

// Says of a feature's splits on which side zeros and NaN go.
struct ZeroUse {
    bool missing = false;   // zeros go where NULL does
    bool elsewhere = false; // zeros go elsewhere in some other split
};

class TreeReader {
  public:
    TreeReader(Reservation& held, RunContext& context)
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

    // What read() looks at.
    static LineFields fields() {
        return LineFields{"num_leaves",     "num_cat",       "split_feature", "split_gain", "threshold",
                          "decision_type",  "left_child",    "right_child",   "leaf_value", "leaf_count",
                          "cat_boundaries", "cat_threshold", "is_linear"};
    }

    // Reads the tree with this number, whose first line is `line`. zeros: by feature.
    Tree read(const LineFields& fields, size_t line, size_t tree, CategoryNumbering& numbering,
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
            refuse_line(line,
                        format("only %zu of the tree's %zu nodes are reached from its root", result.size(), count));
        return result;
    }

  private:
    static constexpr char what[] = "a tree of an imported model";

    void read_arrays(const LineFields& fields, size_t leaves, const std::string& where) {
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
    void read_category_sets(const LineFields& fields, const std::string& where) {
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
    Node inner_node(size_t i, size_t leaves, size_t line, size_t features) const {
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

    Node leaf(size_t i, size_t line) const {
        Node leaf;
        leaf.value = leaf_value_[i];
        leaf.rows = leaf_count_.empty() ? 0 : leaf_count_[i];
        if (!std::isfinite(leaf.value)) refuse_line(line, format("the value of leaf %zu of the tree is not finite", i));
        if (!(leaf.rows >= 0 && leaf.rows <= max_count))
            refuse_line(line, format("the count of leaf %zu of the tree is negative or too large", i));
        return leaf;
    }

    // x ≤ t is x < the next number. Where NaN counts as 0, so does NULL.
    void set_number_split(Node& node, size_t i, size_t line, ZeroUse& zeros) const {
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

    void set_category_split(Node& node, size_t i, size_t line) const {
        const double set = threshold_[i];
        if (!(set >= 0 && set + 1 < static_cast<double>(cat_boundaries_.size())) || set != std::floor(set))
            refuse_line(line, format("node %zu of the tree has no set of categories", i));
        const uint32_t begin = cat_boundaries_[static_cast<size_t>(set)],
                       end = cat_boundaries_[static_cast<size_t>(set) + 1];
        if (end - begin > INT32_MAX / 32) refuse_line(line, format("node %zu of the tree has too many categories", i));
        size_t count = 0;
        for (uint32_t word = begin; word < end; word++)
            count += static_cast<size_t>(std::popcount(cat_threshold_[word]));
        held_.grow(count * sizeof(uint32_t));
        node.categories.reserve(count);
        for (uint32_t word = begin; word < end; word++)
            for (uint32_t bit = 0; bit < 32; bit++)
                if (cat_threshold_[word] >> bit & 1) node.categories.push_back((word - begin) * 32 + bit);
        context_.worked(10 * (end - begin) + count);
    }

    Reservation& held_;
    RunContext& context_;
    Buffer<int32_t> split_feature_, left_child_, right_child_, decision_type_;
    Buffer<double> threshold_, leaf_value_, leaf_count_, split_gain_;
    Buffer<uint32_t> cat_boundaries_, cat_threshold_;
};

class LightGbmReader {
  public:
    LightGbmReader(std::string_view text, RunContext& context)
        : lines_(text, context), context_(context), result_(lightgbm, context), tree_reader_(held_, context) {}

    ImportedModel read(std::string_view categories) {
        read_header();
        numbering_.emplace(model_, lightgbm, held_, context_);
        while (!tree_line_.empty()) read_tree();
        if (model_.trees.size() % model_.bases.size() != 0)
            refuse(format("It has %zu trees, which is no multiple of the %zu of an iteration.", model_.trees.size(),
                          model_.bases.size()));
        if (!found_end_) refuse("It ends before the line \"end of trees\".");
        read_rest();
        name_categories(category_lines_, categories, result_, *numbering_, context_);
        numbering_->apply();
        finish_zeros();
        for (const Tree& tree : model_.trees)
            model_.rows = std::max(model_.rows, static_cast<uint64_t>(std::min(tree[0].rows, 1e18)));
        return std::move(result_);
    }

  private:
    void read_header() {
        LineFields header{
            "version",        "num_class",     "num_tree_per_iteration", "max_feature_idx",      "objective",
            "average_output", "feature_names", "feature_infos",          "monotone_constraints", "pandas_features"};
        if (lines_.next() != "tree") refuse("The first line is not \"tree\".");
        read_fields(header);
        const LineValue& version = header.require("version", "The header");
        if (version.text != "v2" && version.text != "v3" && version.text != "v4")
            refuse_line(version.line, "the version is " + shown(version.text) + ", not v2, v3 or v4");
        read_features(header);
        const LineValue& per_iteration = header.require("num_tree_per_iteration", "The header");
        const auto scores = number_of<size_t>(per_iteration.text, per_iteration.line, "num_tree_per_iteration");
        if (scores < 1 || scores > max_labels)
            refuse_line(per_iteration.line, format("num_tree_per_iteration is not between 1 and %zu", max_labels));
        model_.bases.assign(scores, 0);
        model_.imported->library = "LightGBM " + std::string(version.text);
        model_.imported->averages = static_cast<bool>(header.find("average_output"));
        read_objective(header, scores);
    }

    void read_features(const LineFields& header) {
        const LineValue& names = header.require("feature_names", "The header");
        for_each_word(names.text, context_, [&](std::string_view name) {
            held_.grow(sizeof(Feature) + 2 * sizeof(ZeroUse) + name.size());
            model_.features.push_back({std::string(name), "double precision", false, {}});
            context_.worked(10);
        });
        if (const std::string* const name = FeatureNames(model_.features, context_).repeated)
            refuse_line(names.line, "feature_names has " + shown(*name) + " twice");
        const LineValue& last = header.require("max_feature_idx", "The header");
        const auto count = number_of<uint32_t>(last.text, last.line, "max_feature_idx") + uint64_t{1};
        if (count != model_.features.size())
            refuse_line(names.line, format("there are %zu feature_names, max_feature_idx says %" PRIu64,
                                           model_.features.size(), count));
        zeros_.resize(model_.features.size());
        category_lines_.feature_infos = header.find("feature_infos");
        category_lines_.pandas_features = header.find("pandas_features");
        const LineValue& directions = header.find("monotone_constraints");
        if (!directions) return;
        Buffer<int32_t> found(context_.memory(), "a tree of an imported model");
        read_numbers(directions, "monotone_constraints", model_.features.size(), found, context_);
        for (const int32_t direction : found)
            model_.directions.push_back(static_cast<int8_t>(std::clamp(direction, -1, 1)));
    }

    // A model of a loss that its trainer wrote has no objective: predictions are scores.
    void read_objective(const LineFields& header, size_t scores) {
        const LineValue& value = header.find("objective");
        Import& imported = *model_.imported;
        held_.grow(value.text.size());
        imported.objective = value ? std::string(value.text) : "custom";
        std::pair<const ForeignObjective*, ObjectiveNumber> found{nullptr, ObjectiveNumber::squared};
        std::string_view name;
        for_each_word(value.text, context_, [&](std::string_view word) {
            if (name.empty()) {
                name = word;
                found = find_objective(&Objective::lightgbm, word);
            } else if (word == "sqrt") {
                imported.link = Link::signed_square;
            } else if (word.starts_with("sigmoid:")) {
                imported.steepness = number_of<double>(word.substr(strlen("sigmoid:")), value.line, "sigmoid");
            }
        });
        if (value && !found.first)
            refuse_feature_of(lightgbm, "predictions of objective " + shown(name), "Its link is not known.");
        if (!(imported.steepness > 0 && std::isfinite(imported.steepness)))
            refuse_line(value.line, "sigmoid is not positive");
        const ForeignObjective& form = found.first ? *found.first : objective_of(found.second).lightgbm.begin()[0];
        model_.options.objective = found.second;
        if (imported.link == Link::identity) imported.link = form.link;
        if (has_scores_by_label(imported.link) != (scores > 1))
            refuse_feature_of(lightgbm, format("%zu scores of objective ", scores) + shown(imported.objective),
                              "How predictions follow from them is not known.");
        result_.add_labels(form.labels(scores));
    }

    // Takes the lines up to the next tree or the end of trees, and tells which it is.
    void read_fields(LineFields& fields) {
        tree_line_ = {};
        while (!lines_.at_end()) {
            const std::string_view line = lines_.next();
            found_end_ = line == "end of trees";
            if (found_end_) return;
            if (line.starts_with("Tree=")) {
                tree_line_ = line;
                return;
            }
            fields.add(line, lines_.number());
        }
    }

    void read_tree() {
        const size_t line = lines_.number();
        LineFields fields = TreeReader::fields();
        read_fields(fields);
        model_.trees.push_back(tree_reader_.read(fields, line, model_.trees.size(), *numbering_, zeros_));
    }

    // Reads what follows the trees.
    void read_rest() {
        const std::pair<std::string_view, LineValue*> keys[] = {
            {"pandas_categorical:", &category_lines_.pandas_categorical},
            {"[categorical_feature:", &category_lines_.categorical_feature}};
        while (!lines_.at_end()) {
            const std::string_view line = lines_.next();
            for (const auto& [key, value] : keys)
                if (line.starts_with(key)) *value = {line.substr(key.size()), lines_.number()};
        }
    }

    void finish_zeros() {
        for (size_t f = 0; f < zeros_.size(); f++) {
            if (!zeros_[f].missing) continue;
            const char* const name = model_.features[f].name.c_str();
            if (zeros_[f].elsewhere)
                refuse_feature_of(lightgbm,
                                  format("zeros of feature \"%s\" that are missing in some splits only", name),
                                  "Predictions take a zero for missing everywhere or nowhere.");
            std::vector<uint8_t>& missing = model_.imported->zero_is_missing;
            missing.resize(zeros_.size(), 0);
            missing[f] = 1;
        }
    }

    TextLines lines_;
    RunContext& context_;
    ImportedModel result_;
    Reservation& held_ = result_.held;
    Model& model_ = result_.model;
    std::string_view tree_line_; // that begins the next tree; empty: there is none
    bool found_end_ = false;     // of the trees
    CategoryLines category_lines_;
    std::optional<CategoryNumbering> numbering_;
    std::vector<ZeroUse> zeros_; // by feature
    TreeReader tree_reader_;
};

} // namespace

ImportedModel read_lightgbm(std::string_view text, std::string_view categories, RunContext& context) {
    return LightGbmReader(text, context).read(categories);
}

} // namespace btml::boosting
