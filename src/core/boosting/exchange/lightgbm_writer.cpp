#include "core/boosting/exchange/lightgbm_text.hpp"

#include "core/base/text_builder.hpp"
#include "core/boosting/exchange/lightgbm_lines.hpp"

#include <set>

namespace btml::boosting {

namespace {

constexpr char what_text[] = "the text of a model";

// What LightGBM's names may not have: spaces separate them, and JSON's characters are refused.
std::string allowed_name(std::string_view name) {
    std::string allowed(name);
    for (char& c : allowed)
        if (static_cast<unsigned char>(c) <= ' ' || std::string_view("\",:[]{}").find(c) != std::string_view::npos)
            c = '_';
    return allowed.empty() ? "_" : allowed;
}

// What is known of a feature over all trees.
struct FeatureUse {
    bool has_null_code = false; // of a categorical feature where NULL goes left somewhere, or would be read in a name
    double min = std::numeric_limits<double>::infinity(), max = -min; // of finite thresholds
};

// Where nothing is less than the threshold, what is less goes right instead: LightGBM's conditions are x ≤ t.
bool is_turned(const Node& node, const Feature& feature) {
    return !feature.categorical && node.threshold == -std::numeric_limits<double>::infinity();
}

double threshold_of(const Node& node, const Feature& feature) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(node.threshold) || is_turned(node, feature)) return infinity;
    return std::nextafter(node.threshold, -infinity);
}

// In the words of LightGBM; a model from there has its own.
std::string objective_text(const Model& model) {
    if (model.imported) return model.imported->objective == "custom" ? "" : model.imported->objective;
    const std::initializer_list<ForeignObjective> names = objective_of(model.options.objective).lightgbm;
    const auto found = std::find_if(names.begin(), names.end(), [&](const ForeignObjective& name) {
        return name.has_labels == !model.labels.empty();
    });
    const ForeignObjective& written = found == names.end() ? *names.begin() : *found;
    std::string text = written.name;
    if (written.has_labels)
        text += has_scores_by_label(written.link) ? format(" num_class:%zu", model.scores()) : " sigmoid:1";
    return text;
}

bool is_finite(const std::string& number) {
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    return error == std::errc() && end == number.data() + number.size() && std::isfinite(value);
}

// Says whether categories are JSON's numbers or booleans.
bool has_literals(const Feature& feature) {
    const std::string_view type = feature.type;
    if (type == "double precision") // NaN is no number of JSON
        return std::all_of(feature.categories.begin(), feature.categories.end(), is_finite);
    return type == "smallint" || type == "integer" || type == "bigint" || type == "boolean";
}

class LightGbmWriter {
  public:
    LightGbmWriter(const Model& model, RunContext& context)
        : model_(model),
          context_(context),
          text_(context, what_text),
          held_(context.memory(), what_text),
          uses_(model.features.size()) {
        held_.grow(model.features.size() * (sizeof(FeatureUse) + sizeof(std::string) * 4));
        for (size_t f = 0; f < uses_.size(); f++) {
            const std::vector<std::string>& names = model.features[f].categories;
            uses_[f].has_null_code = !names.empty() && is_null_name(names.back());
        }
        for (const Tree& tree : model.trees) {
            for (const Node& node : tree)
                if (!node.is_leaf()) note_use(node);
            context.worked(tree.size());
        }
    }

    Buffer<char> write() {
        write_header();
        for (size_t t = 0; t < model_.trees.size(); t++)
            write_tree(model_.trees[t], t, t < model_.scores() ? model_.bases[t] : 0);
        // A model without trees has one leaf for each score.
        for (size_t t = 0; model_.trees.empty() && t < model_.scores(); t++) {
            Tree leaf(1);
            leaf[0].rows = static_cast<double>(model_.rows);
            write_tree(leaf, t, model_.bases[t]);
        }
        text_ << "end of trees\n";
        write_parameters();
        return text_.take();
    }

  private:
    // Writes a line key=value value …
    template <class List, class Of>
    void line(const char* key, const List& list, const Of& of) {
        text_ << key << "=";
        const char* separator = "";
        for (const auto& element : list) {
            text_ << separator << of(element);
            separator = " ";
        }
        text_ << "\n";
    }

    void note_use(const Node& node) {
        const Feature& feature = model_.features[node.feature];
        FeatureUse& use = uses_[static_cast<size_t>(node.feature)];
        if (feature.categorical) {
            use.has_null_code |= node.null_left;
            return;
        }
        const double threshold = threshold_of(node, feature);
        if (!std::isfinite(threshold)) return;
        use.min = std::min(use.min, threshold);
        use.max = std::max(use.max, threshold);
    }

    void write_header() {
        text_ << "tree\nversion=v4\nnum_class=" << model_.scores() << "\nnum_tree_per_iteration=" << model_.scores()
              << "\nlabel_index=0\nmax_feature_idx=" << model_.features.size() - 1 << "\n";
        if (const std::string objective = objective_text(model_); !objective.empty())
            text_ << "objective=" << objective << "\n";
        if (model_.imported && model_.imported->averages) text_ << "average_output\n";
        write_names();
        if (!model_.directions.empty())
            line("monotone_constraints", model_.directions, [](int8_t direction) { return int{direction}; });
        write_infos();
        // LightGBM skips a key that it does not know, and does not say itself whose lists pandas_categorical has.
        text_ << "pandas_features=";
        write_categorical(" ");
        text_ << "\n\n";
    }

    void write_names() {
        std::set<std::string> names;
        line("feature_names", model_.features, [&](const Feature& feature) {
            const std::string name = allowed_name(feature.name);
            std::string distinct = name;
            for (size_t i = 2; !names.insert(distinct).second; i++) {
                distinct = name + "_" + std::to_string(i);
                context_.worked(1);
            }
            held_.grow(4 * sizeof(std::string) + distinct.size());
            return distinct;
        });
    }

    // Codes, or the range of thresholds; "none" for a feature that no tree splits.
    void write_infos() {
        line("feature_infos", model_.features, [&](const Feature& feature) {
            const FeatureUse& use = uses_[static_cast<size_t>(&feature - model_.features.data())];
            if (!feature.categorical)
                return use.min <= use.max ? "[" + shortest(use.min) + ":" + shortest(use.max) + "]"
                                          : std::string("none");
            std::string codes;
            for (size_t code = 0; code < feature.categories.size() + use.has_null_code; code++) {
                if (code > 0) codes += ":";
                codes += std::to_string(code);
            }
            context_.worked(codes.size());
            return codes.empty() ? "none" : codes;
        });
    }

    // Writes the numbers of the categorical features.
    void write_categorical(const char* between) {
        const char* separator = "";
        for (size_t f = 0; f < model_.features.size(); f++) {
            if (!model_.features[f].categorical) continue;
            text_ << separator << f;
            separator = between;
        }
    }

    void write_tree(const Tree& tree, size_t number, double base) {
        const Reservation counted(context_.memory(), what_text, tree.size() * (2 * sizeof(void*) + 2 * sizeof(double)));
        std::vector<const Node*> inner, leaves;
        std::vector<int32_t> number_of_node(tree.size()); // leaf i is ~i
        for (size_t i = 0; i < tree.size(); i++) {
            std::vector<const Node*>& kind = tree[i].is_leaf() ? leaves : inner;
            const auto place = static_cast<int32_t>(kind.size());
            number_of_node[i] = tree[i].is_leaf() ? ~place : place;
            kind.push_back(&tree[i]);
        }
        size_t sets = 0;
        for (const Node* const node : inner) sets += model_.features[node->feature].categorical;
        text_ << "Tree=" << number << "\nnum_leaves=" << leaves.size() << "\nnum_cat=" << sets << "\n";
        write_inner_nodes(tree, inner, number_of_node, base);
        line("leaf_value", leaves, [&](const Node* leaf) { return base + leaf->value; });
        line("leaf_weight", leaves, [](const Node* leaf) { return leaf->rows; });
        line("internal_weight", inner, [](const Node* node) { return node->rows; });
        write_counts(tree);
        if (sets > 0) write_category_sets(inner);
        text_ << "is_linear=0\nshrinkage=1\n\n\n";
    }

    void write_inner_nodes(const Tree& tree, const std::vector<const Node*>& inner, const std::vector<int32_t>& number,
                           double base) {
        const auto feature_of = [&](const Node* node) -> const Feature& { return model_.features[node->feature]; };
        line("split_feature", inner, [](const Node* node) { return node->feature; });
        line("split_gain", inner, [](const Node* node) { return node->gain; });
        size_t set = 0;
        line("threshold", inner, [&](const Node* node) {
            const Feature& feature = feature_of(node);
            return feature.categorical ? static_cast<double>(set++) : threshold_of(*node, feature);
        });
        line("decision_type", inner, [&](const Node* node) {
            if (feature_of(node).categorical) return categorical_bit;
            const bool zeros = model_.imported && !model_.imported->zero_is_missing.empty() &&
                               model_.imported->zero_is_missing[static_cast<size_t>(node->feature)];
            const bool default_left = node->null_left != is_turned(*node, feature_of(node));
            // NaN goes to the default side either way, and zeros do with the one.
            const MissingType missing = zeros ? MissingType::zero : MissingType::nan;
            return static_cast<int>(missing) << missing_shift | (default_left ? default_left_bit : 0);
        });
        const auto child = [&](const Node* node, bool left) {
            return number[static_cast<size_t>(left != is_turned(*node, feature_of(node)) ? node->left : node->right)];
        };
        line("left_child", inner, [&](const Node* node) { return child(node, true); });
        line("right_child", inner, [&](const Node* node) { return child(node, false); });
        std::vector<double> means(tree.size());
        for (size_t i = tree.size(); i-- > 0;) {
            const Node& node = tree[i];
            if (node.is_leaf()) {
                means[i] = base + node.value;
                continue;
            }
            const auto left = static_cast<size_t>(node.left), right = static_cast<size_t>(node.right);
            const double share = node.rows > 0 ? tree[left].rows / node.rows : 0.5;
            means[i] = share * means[left] + (1 - share) * means[right];
        }
        line("internal_value", inner, [&](const Node* node) { return means[static_cast<size_t>(node - tree.data())]; });
    }

    // Counts are whole there, and LightGBM divides by them: leaves have one at least. One factor brings covers that are
    // not whole, or too large, to about a thousand million.
    void write_counts(const Tree& tree) {
        constexpr double max_count = 2147483647, wanted = 1e9;
        bool whole = tree[0].rows <= max_count;
        for (const Node& node : tree) whole &= !node.is_leaf() || node.rows == std::floor(node.rows);
        const double factor = whole || tree[0].rows == 0 ? 1 : wanted / tree[0].rows;
        std::vector<int64_t> counts(tree.size());
        for (size_t i = tree.size(); i-- > 0;) {
            const Node& node = tree[i];
            if (node.is_leaf())
                counts[i] = std::max<int64_t>(1, std::llround(node.rows * factor));
            else
                counts[i] = counts[static_cast<size_t>(node.left)] + counts[static_cast<size_t>(node.right)];
        }
        for (const bool of_leaves : {true, false}) {
            text_ << (of_leaves ? "leaf_count=" : "internal_count=");
            const char* separator = "";
            for (size_t i = 0; i < tree.size(); i++) {
                if (tree[i].is_leaf() != of_leaves) continue;
                text_ << separator << counts[i];
                separator = " ";
            }
            text_ << "\n";
        }
    }

    // A set is a range of words of 32 bits; no category of it is one word.
    void write_category_sets(const std::vector<const Node*>& inner) {
        std::vector<uint64_t> boundaries{0};
        Buffer<uint32_t> words(context_.memory(), what_text);
        for (const Node* const node : inner) {
            const Feature& feature = model_.features[node->feature];
            if (!feature.categorical) continue;
            const size_t begin = words.size();
            const size_t last =
                node->null_left ? feature.categories.size() : (node->categories.empty() ? 0 : node->categories.back());
            for (size_t i = 0; i <= last / 32; i++) words.push_back(0);
            for (const uint32_t code : node->categories) words[begin + code / 32] |= uint32_t{1} << code % 32;
            if (node->null_left) words[begin + last / 32] |= uint32_t{1} << last % 32;
            boundaries.push_back(words.size());
            context_.worked(words.size() - begin);
        }
        const auto itself = [](auto number) { return number; };
        line("cat_boundaries", boundaries, itself);
        line("cat_threshold", words, itself);
    }

    void write_parameters() {
        text_ << "\nparameters:\n[categorical_feature: ";
        write_categorical(",");
        const bool any = std::any_of(model_.features.begin(), model_.features.end(),
                                     [](const Feature& feature) { return feature.categorical; });
        text_ << "]\n\nend of parameters\n\npandas_categorical:" << (any ? "[" : "null");
        const char* separator = "";
        for (size_t f = 0; f < model_.features.size(); f++) {
            if (!model_.features[f].categorical) continue;
            text_ << separator;
            write_categories(model_.features[f], uses_[f]);
            separator = ", ";
        }
        text_ << (any ? "]\n" : "\n");
    }

    // Numbers and booleans are themselves there, so that columns of them have these categories.
    void write_categories(const Feature& feature, const FeatureUse& use) {
        const bool literal = has_literals(feature), real = feature.type == "double precision";
        text_ << "[";
        const char* separator = "";
        for (const std::string& category : feature.categories) {
            text_ << separator;
            if (literal) // a real one that is whole is told from an integer
                text_ << category << (real && category.find_first_of(".e") == std::string::npos ? ".0" : "");
            else
                text_.json_string(category);
            separator = ", ";
        }
        if (use.has_null_code) {
            std::string name = "(null)";
            const CategoryOrder is_less(feature.type);
            while (std::binary_search(feature.categories.begin(), feature.categories.end(), name, is_less))
                name = "(" + name + ")";
            text_ << separator;
            text_.json_string(name);
        }
        text_ << "]";
    }

    const Model& model_;
    RunContext& context_;
    TextBuilder text_;
    Reservation held_;
    std::vector<FeatureUse> uses_; // by feature
};

} // namespace

Buffer<char> write_lightgbm(const Model& model, RunContext& context) {
    if (model.offset)
        throw Error(ErrorCode::not_supported, "a model with an offset has no LightGBM form",
                    "A row's offset is added to its score, which LightGBM's models do not do.",
                    "Train without offset, and add it to LightGBM's raw score.");
    if (model.imported && model.imported->single_precision)
        throw Error(ErrorCode::not_supported, "a model that was imported from XGBoost has no LightGBM form",
                    "Its scores are sums of floats, LightGBM's of doubles.");
    return LightGbmWriter(model, context).write();
}

} // namespace btml::boosting
