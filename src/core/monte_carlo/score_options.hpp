// Says what a caller chooses of a cross-validation score, and of the search for its least.
#pragma once

#include "core/base/options_table.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"

namespace btml::monte_carlo {

struct ScoreRequest {
    Bandwidths bandwidths{0};        // of a score
    ScoreKind kind = ScoreKind::kde; // of a search
    SelectionOptions selection;      // its score options are those of a score, too
    bool scaled = false;             // each coordinate is divided by its standard deviation
};

extern const OptionsTable<ScoreRequest> score_options_table;

} // namespace btml::monte_carlo
