#include "core/linear/coefficients.hpp"

#include "core/numbers/student_t.hpp"

#include <cmath>

namespace btml::linear {

namespace {

class CoefficientList {
  public:
    CoefficientList(const Model& model, double confidence)
        : model_(model),
          df_(model.test_degrees_of_freedom()),
          quantile_(model.has_errors() ? student_t_quantile(1 - confidence, df_) : 0) {}

    void add(Coefficient row, double estimate, double std_error) {
        row.estimate = estimate;
        if (model_.has_errors()) {
            row.std_error = std_error;
            row.lower = estimate - quantile_ * std_error;
            row.upper = estimate + quantile_ * std_error;
            if (std_error > 0) {
                row.statistic = estimate / std_error;
                row.p_value = student_t_tail(*row.statistic, df_);
            }
        }
        rows_.push_back(std::move(row));
    }
    void add(const Column& column) {
        if (column.state == ColumnState::offset) return;
        const Feature& feature = model_.features[column.feature];
        Coefficient row{.feature = feature.name, .missing = column.kind == ColumnKind::missing};
        if (column.kind == ColumnKind::category) row.category = feature.categories[column.category];
        if (column.state == ColumnState::kept)
            add(std::move(row), column.estimate, column.std_error);
        else
            rows_.push_back(std::move(row));
    }
    std::vector<Coefficient> take() && { return std::move(rows_); }

  private:
    const Model& model_;
    const double df_, quantile_;
    std::vector<Coefficient> rows_;
};

} // namespace

std::vector<Coefficient> coefficients(const Model& model, const CoefficientOptions& options) {
    coefficient_options_table.check(options);
    CoefficientList list(model, options.confidence);
    list.add({.feature = "(intercept)"}, model.intercept, model.intercept_error);
    for (const Column& column : model.columns) list.add(column);
    return std::move(list).take();
}

} // namespace btml::linear
