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
class CategoryNaming {
  public:
    CategoryNaming(const CategoryLines& lines, const Model& model, CategoryNumbering& numbering, Reservation& held,
                   RunContext& context);

    void name(std::string_view categories, std::vector<ImportNotice>& notices);

  private:
    using Lists = std::vector<CategoryNames>;

    void read_infos();
    Lists read_lists();
    std::vector<size_t> read_features();
    bool set_stated(Lists& lists);
    bool fits(const CategoryNames& list, size_t feature) const;
    std::vector<size_t> places(const Lists& lists, bool from_end) const;
    void set_each(Lists& lists, const std::vector<size_t>& features, std::vector<ImportNotice>& notices);
    void set_certain(Lists& lists, const std::vector<size_t>& features);
    [[noreturn]] void refuse_uncertain(const std::string& feature, size_t lists) const;

    const CategoryLines& lines_;
    const Model& model_;
    CategoryNumbering& numbering_;
    Reservation& held_;
    RunContext& context_;
    // By feature: how many categories its column had at least if its values are codes; 0 where nothing is known,
    // infinity where they are no codes.
    std::vector<double> least_;
};

} // namespace btml::boosting
