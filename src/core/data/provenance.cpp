#include "core/data/provenance.hpp"

namespace btml {

void encode(const Provenance& provenance, Writer& writer) {
    writer.section(provenance_section, [&] {
        writer.put(std::string_view(provenance.target));
        writer.put(std::string_view(provenance.strategy));
        writer.put(std::string_view(provenance.strategy_reason));
        writer.put(provenance.rows);
        writer.put(provenance.holdout_rows);
        writer.put(provenance.rows_skipped);
    });
    writer.section(features_section, [&] { encode(provenance.features, writer); });
}

void decode(Sections& sections, Reader& reader, Provenance& provenance) {
    sections.require(provenance_section, [&] {
        provenance.target = reader.get_string();
        provenance.strategy = reader.get_string();
        provenance.strategy_reason = reader.get_string();
        provenance.rows = reader.get<uint64_t>();
        provenance.holdout_rows = reader.get<uint64_t>();
        provenance.rows_skipped = reader.get<uint64_t>();
    });
    sections.require(features_section, [&] { provenance.features = decode_features(reader); });
}

} // namespace btml
