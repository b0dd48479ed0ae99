// Holds what a model knows of the columns it was trained on.
#pragma once

#include "core/base/serial.hpp"

namespace btml {

struct Feature {
    std::string name;
    std::string type; // SQL type name
    bool categorical = false;
    std::vector<std::string> categories; // labels by code, in CategoryOrder(type); empty unless categorical
};

// Orders categories as a feature of some type has them: those of numbers by their values, so that codes ascend with
// them, and all others bytewise.
class CategoryOrder {
  public:
    // type: the SQL name.
    explicit CategoryOrder(std::string_view type);

    bool operator()(std::string_view a, std::string_view b) const { return by_value_ ? is_less(a, b) : a < b; }

  private:
    static bool is_less(std::string_view a, std::string_view b);

    bool by_value_;
};

void encode(const std::vector<Feature>& features, Writer& writer);
// Error corrupt_model.
std::vector<Feature> decode_features(Reader& reader);

} // namespace btml
