// Holds what every model says of where it comes from.
#pragma once

#include "core/data/feature.hpp"

namespace btml {

struct Provenance {
    std::string target;
    std::vector<Feature> features;
    std::string strategy, strategy_reason; // how the join was handled, for people
    uint64_t rows = 0;                     // of the join, trained on
    uint64_t holdout_rows = 0;
    uint64_t rows_skipped = 0; // of the join, whose target is NULL
};

// Sections of every kind of model: what Provenance writes, and its options.
inline constexpr SectionKind provenance_section{"provenance"}, features_section{"features"}, options_section{"options"};

void encode(const Provenance& provenance, Writer& writer);
// Error corrupt_model.
void decode(Sections& sections, Reader& reader, Provenance& provenance);

} // namespace btml
