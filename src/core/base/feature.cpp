#include "core/base/feature.hpp"

namespace btml {

static Feature decode_feature(Reader& reader) {
    Feature feature;
    feature.name = reader.get_string();
    feature.type = reader.get_string();
    feature.categorical = reader.get_bool();
    const size_t count = reader.get_count(sizeof(uint32_t));
    if (count > 0 && !feature.categorical) corrupt_model("A numeric feature has categories.");
    reader.hold(count * sizeof(std::string));
    feature.categories.reserve(count);
    for (size_t i = 0; i < count; i++) {
        feature.categories.push_back(reader.get_string());
        if (i > 0 && !(feature.categories[i - 1] < feature.categories[i]))
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
