// Holds what a model knows of the columns it was trained on.
#pragma once

#include "core/base/serial.hpp"

#include <span>

namespace btml {

struct Feature {
    std::string name;
    std::string type; // SQL type name
    bool categorical = false;
    std::vector<std::string> categories; // labels by code, in CategoryOrder(type); empty unless categorical
    // Which element of a column of arrays it is, from 1; 0: a column by itself. The elements of a column follow one
    // another, from the first to the last. Their type is that of the array, which has plain numbers.
    uint32_t element = 0;

    // Returns the name of the column, which is the feature's unless it is an element.
    std::string_view column() const;
    // Returns what is known of it before its categories are.
    Feature without_categories() const { return {name, type, categorical, {}, element}; }
};

// Returns the name that an element has as a feature.
std::string element_name(std::string_view column, size_t element);

// Returns how many features, from this one on, are elements of its column; 1 where it is no element.
size_t features_of_column(const std::vector<Feature>& features, size_t first);

// Features that are told of together, under one name.
struct FeatureGroup {
    size_t first, count;
    std::string_view name; // of the column; lives as long as the features
};

// Adds up the values of a group's features, of those of all features.
double total_of(const FeatureGroup& group, std::span<const double> values);

// Returns the columns that the features are of, or, where elements are asked for, each feature by itself.
std::vector<FeatureGroup> grouped(const std::vector<Feature>& features, bool elements);

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
