// One tree of LightGBM's text format.
#pragma once

#include "core/boosting/exchange/lightgbm_lines.hpp"

namespace btml::boosting {

// Says of a feature's splits on which side zeros and NaN go.
struct ZeroUse {
    bool missing = false;   // zeros go where NULL does
    bool elsewhere = false; // zeros go elsewhere in some other split
};

class LightGbmTreeReader {
  public:
    LightGbmTreeReader(Reservation& held, RunContext& context);

    // What read() looks at.
    static LineFields fields();
    // Reads the tree with this number, whose first line is `line`. zeros: by feature.
    Tree read(const LineFields& fields, size_t line, size_t tree, CategoryNumbering& numbering,
              std::vector<ZeroUse>& zeros);

  private:
    static constexpr char what[] = "a tree of an imported model";

    void read_arrays(const LineFields& fields, size_t leaves, const std::string& where);
    void read_category_sets(const LineFields& fields, const std::string& where);
    Node inner_node(size_t i, size_t leaves, size_t line, size_t features) const;
    Node leaf(size_t i, size_t line) const;
    void set_number_split(Node& node, size_t i, size_t line, ZeroUse& zeros) const;
    void set_category_split(Node& node, size_t i, size_t line) const;

    Reservation& held_;
    RunContext& context_;
    Buffer<int32_t> split_feature_, left_child_, right_child_, decision_type_;
    Buffer<double> threshold_, leaf_value_, leaf_count_, split_gain_;
    Buffer<uint32_t> cat_boundaries_, cat_threshold_;
};

} // namespace btml::boosting
