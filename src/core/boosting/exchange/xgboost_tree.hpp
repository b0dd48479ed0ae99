// One tree of XGBoost's JSON format.
#pragma once

#include "core/boosting/exchange/imported_model.hpp"

#include <map>

namespace btml::boosting {

inline constexpr char xgboost[] = "XGBoost";

// Says how trees split features: a feature that some split as numbers and others as categories is neither.
enum class SplitKinds : uint8_t { number = 1, category = 2 };

class XgboostTreeReader {
  public:
    XgboostTreeReader(Reservation& held, RunContext& context);

    // Reads the tree with this number. Features are those of the file, not checked. Categories are the file's codes.
    Tree read(JsonReader& json, size_t tree);
    // The features that were split so far; a feature's number is not negative.
    const std::map<int32_t, uint8_t>& kinds() const { return kinds_; }

  private:
    void read_arrays(JsonReader& json);
    bool read_node_array(JsonReader& json, const std::string& key);
    bool read_category_array(JsonReader& json, const std::string& key);
    void check_sizes(size_t tree) const;
    void find_sets(size_t tree);
    Node node(size_t i, size_t tree);
    void set_categories(Node& node, size_t i);

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
