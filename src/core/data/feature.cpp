#include "core/data/feature.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace btml {

CategoryOrder::CategoryOrder(std::string_view type) {
    static constexpr std::string_view numbers[] = {"smallint", "integer", "bigint",
                                                   "numeric",  "real",    "double precision"};
    by_value_ = std::find(std::begin(numbers), std::end(numbers), type) != std::end(numbers);
}

// Returns the number that a text is, the greatest one for any other text.
static double value_of(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && !std::isnan(value);
    return is_number ? value : std::numeric_limits<double>::infinity();
}

// Integers that one double stands for differ in length, or else bytewise, as other texts do.
bool CategoryOrder::is_less(std::string_view a, std::string_view b) {
    const double x = value_of(a), y = value_of(b);
    if (x != y) return x < y;
    if (x < 0) std::swap(a, b);
    return std::isfinite(x) && a.size() != b.size() ? a.size() < b.size() : a < b;
}

static Feature decode_feature(Reader& reader) {
    Feature feature;
    feature.name = reader.get_string();
    feature.type = reader.get_string();
    feature.categorical = reader.get_bool();
    const size_t count = reader.get_count(sizeof(uint32_t));
    if (count > 0 && !feature.categorical) corrupt_model("A numeric feature has categories.");
    reader.hold(count * sizeof(std::string));
    const CategoryOrder is_less(feature.type);
    feature.categories.reserve(count);
    for (size_t i = 0; i < count; i++) {
        feature.categories.push_back(reader.get_string());
        if (i > 0 && !is_less(feature.categories[i - 1], feature.categories[i]))
            corrupt_model("The categories of a feature are not in order.");
    }
    return feature;
}

void encode(const std::vector<Feature>& features, Writer& writer) {
    writer.put_count(features.size());
    for (const Feature& feature : features) {
        writer.put(std::string_view(feature.name));
        writer.put(std::string_view(feature.type));
        writer.put(feature.categorical);
        writer.put_count(feature.categories.size());
        for (const std::string& label : feature.categories) writer.put(std::string_view(label));
    }
}

std::vector<Feature> decode_features(Reader& reader) {
    std::vector<Feature> features;
    const size_t count = reader.get_count(2 * sizeof(uint32_t) + 1 + sizeof(uint32_t));
    reader.hold(count * sizeof(Feature));
    features.reserve(count);
    for (size_t i = 0; i < count; i++) features.push_back(decode_feature(reader));
    return features;
}

} // namespace btml
