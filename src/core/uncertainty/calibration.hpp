// How far off a model's predictions are: z = (y − prediction)/deviation of rows that it was not trained on, in their
// order, from which quantiles of an observation follow.
//
// One more row has every rank with the same probability beside n exchangeable rows that nothing was chosen by: it is at
// most the k-th smallest of the n with probability k/(n + 1) or more, whatever the distribution and the model (Vovk,
// Gammerman, Shafer: Algorithmic Learning in a Random World; Lei et al.: Distribution-Free Predictive Inference for
// Regression, 2018).
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/run_context.hpp"
#include "core/base/serial.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace btml::uncertainty {

// A Student t distribution about 0. Its standard deviation is scale · √(df/(df − 2)) for df > 2, and infinite else.
struct StudentT {
    static constexpr double min_df = 1, max_df = 1000; // above it is a normal distribution by any measure

    double scale = 1, df = max_df;

    // Returns −ln of the density at z.
    double nll(double z) const;
};

// Returns the likeliest distribution for ascending numbers, by 4,001 of them that lie evenly among them where there are
// more; its scale is at least a thousandth of their root mean square, so that a tie at 0 has a density. All 0: scale 0.
StudentT likeliest_student_t(std::span<const double> sorted, RunContext& context);

// Takes the variance that a model tells of an observation to that of its normal distribution: a model may be too sure
// of some rows or of all, and two numbers make good as much of that as two numbers can.
struct VarianceCalibration {
    double factor = 1; // 0 and above
    double floor = 0;  // in the target's units, squared; 0 and above

    bool is_identity() const { return factor == 1 && floor == 0; }
    double operator()(double variance) const { return is_identity() ? variance : factor * variance + floor; }
};

// Returns the factor and the floor that maximise the likelihood of errors, which came with these deviations. Of factors
// that are as likely but for 0.02 over the root of the rows, the one nearest to 1 is taken. Both have to be clearly
// likelier than the identity (is_clearly_better), with the errors that are the most deviations and without them, since
// few far values say nothing of other rows; where they are not, those that maximise the likelihood of the others are
// tried. Returns the identity where these fail as well, or where the errors are fewer than 100. The order of the errors
// moves the result by rounding alone. O(n).
VarianceCalibration likeliest_variances(std::span<const double> errors, std::span<const double> deviations,
                                        RunContext& context);

// Returns the mean negative log density of errors under normal distributions whose variances are calibrated, in nats.
double mean_nll_normal(std::span<const double> errors, std::span<const double> deviations,
                       const VarianceCalibration& calibration, RunContext& context);

// Says whether a mean negative log density of so many rows is lower than another by more than chance: by half a nat of
// one row, and of more rows by less, as the root of their number.
bool is_clearly_better(double nll, double than, size_t rows);

// Says which rows the z are of. Only the first comes with a guarantee.
enum class Method : uint8_t { split_conformal, leave_one_out, out_of_fold, held_out };
const char* name_of(Method method); // for people

struct Calibration {
    static constexpr size_t max_kept = 2001;

    Method method = Method::split_conformal;
    uint64_t rows = 0;
    std::vector<double> kept; // all z ascending, or so many of them: evenly by rank, the first and the last among them
    StudentT student;         // the likeliest for them
    VarianceCalibration variance;
    uint64_t updates = 0; // observations that the model took or gave since, and that the z know nothing of

    // Returns what z of another row is at most with probability q, or q < ½: at least with 1 − q. It is rounded away
    // from the middle, to a rank and to one that is kept, and infinite where the rows are too few.
    double quantile(double q) const;
};

// What predictions of rows were off, and the deviations that they came with.
class StandardisedErrors {
  public:
    explicit StandardisedErrors(RunContext& context)
        : context_(&context), errors_(context.memory(), what), deviations_(context.memory(), what) {}

    void add(double error, double variance) {
        errors_.push_back(error);
        deviations_.push_back(std::sqrt(variance));
    }
    void add(const StandardisedErrors& others) {
        for (size_t i = 0; i < others.size(); i++) {
            errors_.push_back(others.errors_[i]);
            deviations_.push_back(others.deviations_[i]);
        }
    }
    size_t size() const { return errors_.size(); }
    // Are in the order of the rows.
    std::span<const double> errors() const { return errors_.span(); }
    std::span<const double> deviations() const { return deviations_.span(); }
    Buffer<double> z() const;
    // Returns finite numbers, ascending: 0 for NaN.
    Buffer<double> sorted_z() const;
    // Returns the mean −ln of the density of the rows' targets, where z has this distribution.
    double mean_nll(const StudentT& student) const;
    // Returns the same of normal distributions whose variances are calibrated.
    double mean_nll(const VarianceCalibration& variance) const {
        return mean_nll_normal(errors(), deviations(), variance, *context_);
    }
    // Returns the same for any order of the rows.
    VarianceCalibration likeliest_variances() const;

  private:
    static constexpr const char* what = "errors of rows";

    double z_of(size_t i) const { return errors_[i] / deviations_[i]; }

    RunContext* context_;
    Buffer<double> errors_, deviations_;
};

// Returns the least number of rows whose quantiles q and 1 − q are finite.
uint64_t rows_for_quantile(double q);

// Takes at least one error.
Calibration calibrate(Method method, const StandardisedErrors& errors, const VarianceCalibration& variance,
                      RunContext& context);

inline constexpr SectionKind calibration_section{"calibration"};
void encode(const Calibration& calibration, Writer& writer);
// Error corrupt_model.
Calibration decode_calibration(Reader& reader);

} // namespace btml::uncertainty
