// One tree of XGBoost's JSON format.
#pragma once

#include "core/boosting/exchange/imported_model.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"

#include <bit>
#include <map>

namespace btml::boosting {

inline constexpr char xgboost[] = "XGBoost";

// Says how trees split features: a feature that some split as numbers and others as categories is neither.
enum class SplitKinds : uint8_t { number = 1, category = 2 };

inline constexpr char what_tree[] = "a tree of an imported model";
inline constexpr int64_t max_category = 1 << 24; // XGBoost's: floats hold whole numbers up to here

class XgboostTreeReader {
  public:
    XgboostTreeReader(Reservation& held, RunContext& context)
        : held_(held),
          context_(context),
          left_(context.memory(), what_tree),
          right_(context.memory(), what_tree),
          feature_(context.memory(), what_tree),
          condition_(context.memory(), what_tree),
          gain_(context.memory(), what_tree),
          hessian_(context.memory(), what_tree),
          default_left_(context.memory(), what_tree),
          categorical_(context.memory(), what_tree),
          categories_(context.memory(), what_tree),
          set_nodes_(context.memory(), what_tree),
          set_begins_(context.memory(), what_tree),
          set_sizes_(context.memory(), what_tree),
          set_of_(context.memory(), what_tree) {}

    // Reads the tree with this number. Features are those of the file, not checked. Categories are the file's codes.
    Tree read(JsonReader& json, size_t tree) {
        read_arrays(json);
        if (has_vectors_)
            refuse_feature_of(xgboost, "multi_target trees",
                              "A leaf of theirs has a number for each of several targets.");
        check_sizes(tree);
        find_sets(tree);
        const size_t count = left_.size();
        const Reservation nodes_held(context_.memory(), what_tree, count * (sizeof(Node) + 3 * sizeof(int32_t)));
        held_.grow(count * sizeof(Node) + 2 * sizeof(Tree));
        std::vector<Node> nodes;
        nodes.reserve(count);
        for (size_t i = 0; i < count; i++) nodes.push_back(node(i, tree));
        Tree ordered = parents_first(std::move(nodes), xgboost, tree, context_);
        // Nodes that pruning has deleted are still in the arrays: only those count that are reached.
        constexpr size_t bytes_of_entry = 64;
        for (Node& split : ordered) {
            if (split.is_leaf()) continue;
            const auto [entry, is_new] = kinds_.try_emplace(split.feature, uint8_t{0});
            if (is_new) held_.grow(bytes_of_entry);
            const bool categorical = std::isnan(split.threshold);
            if (categorical) split.threshold = 0;
            entry->second |= static_cast<uint8_t>(categorical ? SplitKinds::category : SplitKinds::number);
        }
        return ordered;
    }
    // The features that were split so far; a feature's number is not negative.
    const std::map<int32_t, uint8_t>& kinds() const { return kinds_; }

  private:
    template <class T, class Read>
    static void read_all(JsonReader& json, Buffer<T>& to, const Read& read) {
        to.resize(0);
        json.array([&] { to.push_back(static_cast<T>(read())); });
    }
    void read_arrays(JsonReader& json) {
        left_.resize(0), right_.resize(0), feature_.resize(0), condition_.resize(0), gain_.resize(0),
            hessian_.resize(0);
        default_left_.resize(0), categorical_.resize(0), categories_.resize(0);
        set_nodes_.resize(0), set_begins_.resize(0), set_sizes_.resize(0);
        has_vectors_ = false;
        json.object([&](const std::string& key) {
            if (read_node_array(json, key) || read_category_array(json, key)) return;
            if (key == "leaf_weights") {
                json.array([&] { json.skip(), has_vectors_ = true; });
            } else if (key == "tree_param") {
                json.object([&](const std::string& param) {
                    if (param != "size_leaf_vector" || json.peek() != JsonReader::Kind::string) return json.skip();
                    const std::string size = json.string();
                    has_vectors_ |= size != "0" && size != "1";
                });
            } else {
                json.skip();
            }
        });
    }
    // Leaves have features and children that do not count.
    bool read_node_array(JsonReader& json, const std::string& key) {
        const auto integer = [&] { return json.integer(INT32_MIN, INT32_MAX); };
        const auto boolean = [&] { return json.boolean(); };
        const auto number = [&] { return json.number_of_32_bits(); };
        if (key == "left_children") return read_all(json, left_, integer), true;
        if (key == "right_children") return read_all(json, right_, integer), true;
        if (key == "split_indices")
            return read_all(json, feature_, [&] { return std::min<int64_t>(json.integer(0, UINT32_MAX), INT32_MAX); }),
                   true;
        if (key == "split_conditions") return read_all(json, condition_, number), true;
        if (key == "loss_changes") return read_all(json, gain_, number), true;
        if (key == "sum_hessian") return read_all(json, hessian_, number), true;
        if (key == "default_left") return read_all(json, default_left_, boolean), true;
        if (key == "split_type") return read_all(json, categorical_, boolean), true;
        return false;
    }
    bool read_category_array(JsonReader& json, const std::string& key) {
        const auto place = [&] { return json.integer(0, int64_t{1} << 50); };
        if (key == "categories")
            return read_all(json, categories_, [&] { return json.integer(0, max_category); }), true;
        if (key == "categories_nodes") return read_all(json, set_nodes_, place), true;
        if (key == "categories_segments") return read_all(json, set_begins_, place), true;
        if (key == "categories_sizes") return read_all(json, set_sizes_, place), true;
        return false;
    }
    void check_sizes(size_t tree) const {
        const size_t count = left_.size();
        if (count == 0 || count > INT32_MAX)
            refuse_model(xgboost, format("Tree %zu has %zu left_children.", tree, count));
        const std::pair<const char*, size_t> sizes[] = {{"right_children", right_.size()},
                                                        {"split_indices", feature_.size()},
                                                        {"split_conditions", condition_.size()},
                                                        {"default_left", default_left_.size()}};
        for (const auto& [key, size] : sizes)
            if (size != count)
                refuse_model(xgboost, format("Tree %zu has %zu %s for %zu nodes.", tree, size, key, count));
        // What does not change predictions may be missing.
        const std::pair<const char*, size_t> optional[] = {
            {"loss_changes", gain_.size()}, {"sum_hessian", hessian_.size()}, {"split_type", categorical_.size()}};
        for (const auto& [key, size] : optional)
            if (size != count && size != 0)
                refuse_model(xgboost, format("Tree %zu has %zu %s for %zu nodes.", tree, size, key, count));
    }
    void find_sets(size_t tree) {
        set_of_.resize(0);
        set_of_.resize(left_.size());
        std::fill(set_of_.begin(), set_of_.end(), -1);
        if (set_begins_.size() != set_nodes_.size() || set_sizes_.size() != set_nodes_.size())
            refuse_model(xgboost, format("Tree %zu has %zu categories_nodes, %zu categories_segments and %zu "
                                         "categories_sizes.",
                                         tree, set_nodes_.size(), set_begins_.size(), set_sizes_.size()));
        for (size_t i = 0; i < set_nodes_.size(); i++) {
            const auto total = static_cast<int64_t>(categories_.size());
            if (set_nodes_[i] >= static_cast<int64_t>(left_.size()) || set_begins_[i] + set_sizes_[i] > total)
                refuse_model(xgboost, format("Tree %zu has a set of categories that is not there.", tree));
            int32_t& set = set_of_[static_cast<size_t>(set_nodes_[i])];
            if (set >= 0) refuse_model(xgboost, format("A node of tree %zu has two sets of categories.", tree));
            set = static_cast<int32_t>(i);
        }
    }
    Node node(size_t i, size_t tree) {
        Node node;
        if (left_[i] == -1) {
            node.value = static_cast<double>(condition_[i]);
            // Sums of hessians that a loss makes negative are no cover.
            if (!hessian_.empty() && std::isfinite(hessian_[i]))
                node.rows = std::max(0.0, static_cast<double>(hessian_[i]));
            if (!std::isfinite(node.value))
                refuse_model(xgboost, format("The value of leaf %zu of tree %zu is not finite.", i, tree));
            return node;
        }
        if (left_[i] < 0) // it would be taken for a leaf
            refuse_model(xgboost, format("Tree %zu of %zu nodes has a child with the number %d.", tree, left_.size(),
                                         static_cast<int>(left_[i])));
        node.left = left_[i];
        node.right = right_[i];
        node.feature = feature_[i];
        node.null_left = default_left_[i];
        if (!gain_.empty() && std::isfinite(gain_[i])) node.gain = std::max(0.0, static_cast<double>(gain_[i]));
        if (!categorical_.empty() && categorical_[i])
            set_categories(node, i);
        else
            node.threshold = threshold_of_doubles(condition_[i]);
        return node;
    }
    // Categories of the set go right there, and those never seen left: here it is the other way round.
    void set_categories(Node& node, size_t i) {
        std::swap(node.left, node.right);
        node.null_left = !node.null_left;
        node.threshold = std::numeric_limits<double>::quiet_NaN(); // marks it until the tree is complete
        if (set_of_[i] < 0) return;
        const auto set = static_cast<size_t>(set_of_[i]);
        const auto begin = static_cast<size_t>(set_begins_[set]), size = static_cast<size_t>(set_sizes_[set]);
        held_.grow(size * sizeof(uint32_t));
        node.categories.reserve(size);
        for (size_t c = begin; c < begin + size; c++) node.categories.push_back(static_cast<uint32_t>(categories_[c]));
        std::sort(node.categories.begin(), node.categories.end());
        node.categories.erase(std::unique(node.categories.begin(), node.categories.end()), node.categories.end());
        context_.worked(10 * size);
    }

    Reservation& held_;
    RunContext& context_;
    std::map<int32_t, uint8_t> kinds_; // by feature, SplitKinds
    Buffer<int32_t> left_, right_, feature_;
    Buffer<float> condition_, gain_, hessian_;
    Buffer<uint8_t> default_left_, categorical_;
    Buffer<int64_t> categories_, set_nodes_, set_begins_, set_sizes_;
    Buffer<int32_t> set_of_; // by node, −1 for none
    bool has_vectors_ = false;
};

} // namespace btml::boosting
