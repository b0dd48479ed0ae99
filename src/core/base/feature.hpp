// Holds what a model knows of the columns it was trained on.
#pragma once

#include "core/base/serial.hpp"

namespace btml {

struct Feature {
    std::string name;
    std::string type; // SQL type name
    bool categorical = false;
    std::vector<std::string> categories; // labels by code, in bytewise order; empty unless categorical
};

void encode(const std::vector<Feature>& features, Writer& writer);
// Error corrupt_model.
std::vector<Feature> decode_features(Reader& reader);

} // namespace btml
