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

std::string_view Feature::column() const {
    const std::string_view whole = name;
    return element == 0 ? whole : whole.substr(0, whole.rfind('['));
}

std::string element_name(std::string_view column, size_t element) {
    return std::string(column) + '[' + std::to_string(element) + ']';
}

size_t features_of_column(const std::vector<Feature>& features, size_t first) {
    size_t count = 1;
    if (features[first].element == 0) return count;
    while (first + count < features.size() && features[first + count].element == features[first].element + count)
        count++;
    return count;
}

std::vector<FeatureGroup> grouped(const std::vector<Feature>& features, bool elements) {
    std::vector<FeatureGroup> groups;
    for (size_t first = 0; first < features.size(); first += groups.back().count) {
        const Feature& feature = features[first];
        if (elements)
            groups.push_back({first, 1, feature.name});
        else
            groups.push_back({first, features_of_column(features, first), feature.column()});
    }
    return groups;
}

double total_of(const FeatureGroup& group, std::span<const double> values) {
    double total = values[group.first];
    for (const double value : values.subspan(group.first + 1, group.count - 1)) total += value;
    return total;
}

namespace {

// Says in a stored model what a feature is.
enum class FeatureForm : uint8_t { number, category, element };

FeatureForm form_of(const Feature& feature) {
    return feature.categorical   ? FeatureForm::category
           : feature.element > 0 ? FeatureForm::element
                                 : FeatureForm::number;
}

// SQL that is written of a model has these names in it.
bool is_array_of_numbers(std::string_view type) {
    static constexpr std::string_view types[] = {"smallint[]", "integer[]", "bigint[]",
                                                 "real[]",     "numeric[]", "double precision[]"};
    return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

// before: the feature that an element other than the first must go on from.
void check_element(const Feature& feature, const Feature* before) {
    const bool goes_on = feature.element == 1 || (before && before->element + 1 == feature.element &&
                                                  before->column() == feature.column() && before->type == feature.type);
    if (feature.element == 0 || !goes_on || feature.name != element_name(feature.column(), feature.element))
        corrupt_model("The elements of a feature's column do not follow one another.");
    if (!is_array_of_numbers(feature.type)) corrupt_model("A feature is an element of what is no array of numbers.");
}

} // namespace

static Feature decode_feature(Reader& reader, const Feature* before) {
    Feature feature;
    feature.name = reader.get_string();
    feature.type = reader.get_string();
    const auto form = static_cast<FeatureForm>(reader.get<uint8_t>());
    if (form > FeatureForm::element) corrupt_model("A feature is of no known form.");
    feature.categorical = form == FeatureForm::category;
    if (form == FeatureForm::element) {
        feature.element = reader.get<uint32_t>();
        check_element(feature, before);
    }
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
        writer.put(static_cast<uint8_t>(form_of(feature)));
        if (feature.element > 0) writer.put(feature.element);
        writer.put_count(feature.categories.size());
        for (const std::string& label : feature.categories) writer.put(std::string_view(label));
    }
}

std::vector<Feature> decode_features(Reader& reader) {
    std::vector<Feature> features;
    const size_t count = reader.get_count(2 * sizeof(uint32_t) + 1 + sizeof(uint32_t));
    reader.hold(count * sizeof(Feature));
    features.reserve(count);
    for (size_t i = 0; i < count; i++) features.push_back(decode_feature(reader, i > 0 ? &features.back() : nullptr));
    return features;
}

} // namespace btml
