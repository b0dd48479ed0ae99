// Names of categories in LightGBM's text. It does not say whose the lists of pandas_categorical are: they are of the
// columns that pandas has as categories, in their order. Those that pandas orders are numbers to LightGBM, which splits
// their codes, and a column of integers may be categorical without a list.
#pragma once

#include "core/boosting/exchange/lightgbm_lines.hpp"

namespace btml::boosting {

// The lines that say something of categories. pandas_features has the numbers of the features whose the lists are, in
// texts from here alone.
struct CategoryLines {
    LineValue feature_infos, pandas_features, pandas_categorical, categorical_feature;
};

// Gives features the caller's names, or else those of pandas_categorical. A feature that trees split as a number needs
// none, so that lists without a place are no error unless a feature of codes may have one of them: invalid_argument.
// Where there are as many lists as categorical features, these are taken to have them; a notice tells where others
// could have them too.
void name_categories(const CategoryLines& lines, std::string_view given, ImportedModel& imported,
                     CategoryNumbering& numbering, RunContext& context);

} // namespace btml::boosting
