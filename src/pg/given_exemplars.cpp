#include "pg/given_exemplars.hpp"

#include "core/gp/fit.hpp"
#include "pg/query_points.hpp"

namespace btml::pg {

GivenExemplars::GivenExemplars(const FitArguments& arguments, gp::Options& options)
    : source_(arguments.text("exemplar_source")) {
    if (source_) options.given_exemplars = std::make_shared<const std::vector<double>>();
}

void GivenExemplars::read(const Dataset& dataset, gp::Options& options, RunContext& context) const {
    constexpr uint64_t max = gp::SparseModel::max_inducing_points;
    if (!source_) return;
    const QueryPoints points(*source_, gp::features_of(dataset), {}, context);
    if (points.rows() == 0)
        throw Error(ErrorCode::invalid_argument, "exemplar_source has no rows", "Its rows are the exemplars.");
    if (points.rows() > max)
        throw Error(ErrorCode::limit_exceeded,
                    format("exemplar_source has %" PRIu64 " rows, more than %" PRIu64, points.rows(), max), "",
                    "Choose among them by btml.exemplars.");
    options.given_exemplars =
        std::make_shared<const std::vector<double>>(points.values().begin(), points.values().end());
}

} // namespace btml::pg
