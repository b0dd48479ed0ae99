// The objectives for Gaussian processes, and the choice among all objectives.
#include "core/algebra/cholesky.hpp"
#include "core/exemplar/clustering.hpp"
#include "core/exemplar/exemplar_objective.hpp"
#include "core/exemplar/row_loops.hpp"
#include "core/exemplar/row_weights.hpp"
#include "core/gp/sparse/covariances.hpp"

#include <algorithm>
#include <cmath>

namespace btml::exemplar {

namespace {

constexpr unsigned changes_per_refresh = 32; // keeps what rounding adds up to below 1e-8

// Describes a candidate s beside the exemplars A. P = (K_AA + σ²I)⁻¹, Q = K_WA P, e the validation rows' targets less
// their predictions, r = k_Ws − Q k_As. Sums over validation rows are by their weights, without the exemplars and s
// unless these count.
struct CandidateTerms {
    double gamma;               // k_ss + σ² − k_As'v: variance of an observation at s
    double residual;            // y_s less its prediction
    double rr, er;              // r'r, e'r
    std::span<const double> v;  // by slot: P k_As
    std::span<const double> qr; // by slot: Q_j'r
    std::span<const double> qq; // by slot: Q_j'Q_j
    std::span<const double> qe; // by slot: Q_j'e
};

// Objectives for Gaussian processes share the posterior given the exemplars' values, and have all swaps of a candidate
// in closed form, at a cost in proportion to exemplars × validation rows.
class GpObjective : public Objective {
  public:
    // `exemplars` says whether validation rows count while they are exemplars.
    GpObjective(const ObjectiveInput& input, RowWeights::Exemplars exemplars, RunContext& context)
        : context_(context),
          validation_(input.validation),
          kernel_(*input.kernel),
          rows_(input.validation.size()),
          width_(input.validation.width()),
          capacity_(input.options.exemplars),
          total_weight_(input.validation.total_weight()),
          weight_(validation_, exemplars, context.memory()),
          x_(context.memory(), "validation rows", rows_ * width_),
          exemplar_x_(context.memory(), "exemplars", capacity_ * width_, 0.0),
          exemplar_numbers_(capacity_),
          candidate_x_(context.memory(), "candidates"),
          candidate_k_(context.memory(), "covariances"),
          p_(context.memory(), "covariances of exemplars", capacity_ * capacity_, 0.0),
          q_(context.memory(), "covariances of validation rows", rows_ * capacity_, 0.0),
          qt_(context.memory(), "covariances of validation rows", rows_ * capacity_, 0.0),
          error_(context.memory(), "validation rows", rows_),
          variance_(context.memory(), "validation rows", rows_, kernel_.signal),
          exemplar_y_(capacity_),
          alpha_(capacity_),
          qq_(capacity_),
          qe_(capacity_) {
        for (size_t i = 0; i < rows_; i++) {
            for (size_t f = 0; f < width_; f++) x_[i * width_ + f] = validation_.x(i)[f] / kernel_.length_scales[f];
            error_[i] = target(i);
        }
    }

    size_t size() const override { return size_; }
    void load(const PointSet& candidates, ThreadTeam& team) override {
        candidates_ = &candidates;
        const size_t groups = (candidates.size() + group_columns - 1) / group_columns;
        candidate_x_.resize(groups * width_ * group_columns);
        candidate_k_.resize(groups * rows_ * group_columns);
        team.for_each(groups, [&](size_t group, int) {
            double* const x = candidate_x_.data() + group * width_ * group_columns;
            const size_t first = group * group_columns;
            put_coordinates(candidates, first, std::min(group_columns, candidates.size() - first), x);
            covariances(x_.data(), rows_, x, candidate_k_.data() + group * rows_ * group_columns);
        });
    }
    void score(size_t first, size_t last, bool add, std::span<Change> best, ThreadTeam& team) override {
        const size_t first_group = first / group_columns, last_group = (last + group_columns - 1) / group_columns;
        team.for_each(last_group - first_group,
                      [&](size_t item, int) { score_group(first_group + item, add, first, last, best); });
    }
    void apply(size_t candidate, size_t slot, ThreadTeam& team) override {
        if (slot < size_) remove(slot);
        add(slot, *candidates_, candidate);
        size_ = std::max(size_, slot + 1);
        if (++changes_ == changes_per_refresh) refresh(team);
        sum_columns();
    }
    double utility() const override {
        return weight_.mean([this](size_t row) { return utility_of(row); });
    }
    // Uses the metric of the kernel: squared distance in units of the length scales.
    Nearest nearest(size_t row) const override {
        Nearest result{0, std::numeric_limits<double>::infinity()};
        for (size_t j = 0; j < size_; j++) {
            double sum = 0;
            for (size_t f = 0; f < width_; f++) {
                const double u = x_[row * width_ + f] - exemplar_x_[j * width_ + f];
                sum += u * u;
            }
            if (sum < result.dissimilarity) result = {j, sum};
        }
        return result;
    }

  protected:
    // These return gains in utility times total_weight().
    virtual double addition_gain(const CandidateTerms& terms) const = 0;
    virtual double swap_gain(const CandidateTerms& terms, size_t slot) const = 0;

    double total_weight() const { return total_weight_; }
    double precision(size_t slot) const { return p_[slot * capacity_ + slot]; } // P_jj
    double solution(size_t slot) const { return alpha_[slot]; }                 // (P y_A)_j
    bool counts(size_t row) const { return weight_[row] > 0; }
    double error(size_t row) const { return error_[row]; }
    double target(size_t row) const { return validation_.target(row) - kernel_.mean; }
    double variance(size_t row) const { return variance_[row]; } // is the posterior's, without noise
    // Returns log det P.
    double log_determinant_of_precision() const {
        if (size_ == 0) return 0;
        Buffer<double> matrix(context_.memory(), "covariances of exemplars", size_ * size_);
        for (size_t j = 0; j < size_; j++) std::copy_n(p_.data() + j * capacity_, size_, matrix.data() + j * size_);
        ThreadTeam alone(context_, 1);
        return algebra::Cholesky(std::move(matrix), size_, alone).log_determinant();
    }
    const SquaredExponential& kernel() const { return kernel_; }

  private:
    // Writes a group of up to eight points, as find_covariances wants them; what is left of the group repeats the last
    // one.
    void put_coordinates(const PointSet& points, size_t first, size_t count, double* to) const {
        for (size_t c = 0; c < group_columns; c++) {
            const std::span<const double> x = points.x(first + std::min(c, count - 1));
            if (x.size() != width_)
                throw Error(ErrorCode::invalid_argument,
                            format("a point has %zu coordinates, the rows have %zu", x.size(), width_));
            for (size_t f = 0; f < width_; f++) to[f * group_columns + c] = x[f] / kernel_.length_scales[f];
        }
    }
    void covariances(const double* rows, size_t count, const double* points, double* to) const {
        gp::find_covariances({gp::KernelChoice::squared_exponential, width_, width_, nullptr, kernel_.signal, rows,
                              count, points, to, group_columns});
    }
    void score_group(size_t group, bool add, size_t first, size_t last, std::span<Change> best) const {
        constexpr size_t width = group_columns;
        std::vector<double> k(capacity_ * width), v(capacity_ * width), qr(capacity_ * width), r(rows_ * width);
        covariances(exemplar_x_.data(), size_, candidate_x_.data() + group * width_ * width, k.data());
        multiply({p_.data(), size_, size_, capacity_, k.data(), v.data()});
        multiply({q_.data(), rows_, size_, capacity_, k.data(), r.data()});
        const double* const column = candidate_k_.data() + group * rows_ * width;
        for (size_t i = 0; i < rows_ * width; i++) r[i] = column[i] - r[i];
        double rr[width] = {}, er[width] = {};
        size_t own[width];
        for (size_t c = 0; c < width; c++) {
            const size_t candidate = std::min(group * width + c, candidates_->size() - 1);
            own[c] = weight_.own_row(candidates_->number(candidate));
            if (own[c] != RowWeights::no_row) r[own[c] * width + c] = 0;
        }
        for (size_t i = 0; i < rows_; i++)
            for (size_t c = 0; c < width; c++) {
                const double weighted = weight_[i] * r[i * width + c];
                rr[c] += weighted * r[i * width + c];
                er[c] += weighted * error_[i];
                r[i * width + c] = weighted;
            }
        if (!add) multiply({qt_.data(), size_, rows_, rows_, r.data(), qr.data()});
        std::vector<double> vs(size_), qrs(size_), qq(size_), qe(size_);
        for (size_t c = std::max(first, group * width) - group * width; c < width && group * width + c < last; c++) {
            const size_t candidate = group * width + c;
            const double own_weight = own[c] == RowWeights::no_row ? 0 : weight_[own[c]];
            double variance = kernel_.signal + kernel_.noise, prediction = 0;
            for (size_t j = 0; j < size_; j++) {
                vs[j] = v[j * width + c], qrs[j] = qr[j * width + c], qq[j] = qq_[j], qe[j] = qe_[j];
                variance -= k[j * width + c] * vs[j];
                prediction += k[j * width + c] * alpha_[j];
                if (own_weight == 0) continue;
                const double q = q_[own[c] * capacity_ + j];
                qq[j] -= own_weight * q * q, qe[j] -= own_weight * q * error_[own[c]];
            }
            const CandidateTerms terms{std::max(variance, kernel_.noise),
                                       candidates_->target(candidate) - kernel_.mean - prediction,
                                       rr[c],
                                       er[c],
                                       vs,
                                       qrs,
                                       qq,
                                       qe};
            Change change{add ? size_ : Change::nothing, -std::numeric_limits<double>::infinity()};
            if (add) change.gain = addition_gain(terms);
            for (size_t j = 0; j < size_ && !add; j++)
                if (const double gain = swap_gain(terms, j); gain > change.gain) change = {j, gain};
            change.gain /= total_weight_;
            best[candidate] = change;
        }
    }
    // The slot's row and column of P become zero, and its column of Q.
    void remove(size_t slot) {
        weight_.leave(exemplar_numbers_[slot]);
        const double precision_of_slot = precision(slot);
        const std::vector<double> p(p_.data() + slot * capacity_, p_.data() + (slot + 1) * capacity_);
        const double* const column = qt_.data() + slot * rows_;
        const std::vector<double> q(column, column + rows_);
        const double a = alpha_[slot] / precision_of_slot, factor = -1 / precision_of_slot;
        add_outer_product({p_.data(), size_, size_, capacity_, factor, p.data(), p.data()});
        add_outer_product({q_.data(), rows_, size_, capacity_, factor, q.data(), p.data()});
        add_outer_product({qt_.data(), size_, rows_, rows_, factor, p.data(), q.data()});
        for (size_t j = 0; j < size_; j++) {
            alpha_[j] -= p[j] * a;
            p_[j * capacity_ + slot] = p_[slot * capacity_ + j] = 0;
        }
        alpha_[slot] = 0;
        for (size_t i = 0; i < rows_; i++) {
            error_[i] += q[i] * a;
            variance_[i] += q[i] * q[i] / precision_of_slot;
            q_[i * capacity_ + slot] = qt_[slot * rows_ + i] = 0;
        }
    }
    // Puts it into a slot whose row and column of P are zero.
    void add(size_t slot, const PointSet& points, size_t i) {
        const size_t size = std::max(size_, slot + 1);
        std::vector<double> x(width_ * group_columns), k(size * group_columns), column(rows_ * group_columns);
        put_coordinates(points, i, 1, x.data());
        covariances(exemplar_x_.data(), size, x.data(), k.data());
        covariances(x_.data(), rows_, x.data(), column.data());
        std::vector<double> u(size), r(rows_);
        double variance = kernel_.signal + kernel_.noise, residual = points.target(i) - kernel_.mean;
        exemplar_y_[slot] = residual;
        for (size_t j = 0; j < size; j++)
            for (size_t t = 0; t < size; t++) u[j] += p_[j * capacity_ + t] * k[t * group_columns];
        for (size_t j = 0; j < size; j++) {
            variance -= u[j] * k[j * group_columns];
            residual -= alpha_[j] * k[j * group_columns];
        }
        variance = std::max(variance, kernel_.noise);
        for (size_t w = 0; w < rows_; w++) {
            r[w] = column[w * group_columns];
            for (size_t j = 0; j < size; j++) r[w] -= q_[w * capacity_ + j] * k[j * group_columns];
            error_[w] -= r[w] * residual / variance;
            variance_[w] -= r[w] * r[w] / variance;
        }
        u[slot] = -1;
        add_outer_product({p_.data(), size, size, capacity_, 1 / variance, u.data(), u.data()});
        add_outer_product({q_.data(), rows_, size, capacity_, -1 / variance, r.data(), u.data()});
        add_outer_product({qt_.data(), size, rows_, rows_, -1 / variance, u.data(), r.data()});
        for (size_t j = 0; j < size; j++) alpha_[j] -= u[j] * residual / variance;
        for (size_t f = 0; f < width_; f++) exemplar_x_[slot * width_ + f] = x[f * group_columns];
        exemplar_numbers_[slot] = points.number(i);
        weight_.enter(points.number(i));
    }
    // Computes everything anew from the exemplars, so that rounding errors do not add up.
    void refresh(ThreadTeam& team) {
        changes_ = 0;
        Buffer<double> matrix(context_.memory(), "covariances of exemplars", size_ * size_);
        Buffer<double> inverse(context_.memory(), "covariances of exemplars", size_ * size_);
        std::vector<double> x(width_ * group_columns);
        const size_t groups = (size_ + group_columns - 1) / group_columns;
        std::vector<double> to_exemplars(size_ * group_columns);
        for (size_t group = 0; group < groups; group++) {
            const size_t first = group * group_columns, count = std::min(group_columns, size_ - first);
            for (size_t c = 0; c < group_columns; c++)
                for (size_t f = 0; f < width_; f++)
                    x[f * group_columns + c] = exemplar_x_[(first + std::min(c, count - 1)) * width_ + f];
            covariances(exemplar_x_.data(), size_, x.data(), to_exemplars.data());
            for (size_t c = 0; c < count; c++)
                for (size_t j = 0; j < size_; j++)
                    matrix[j * size_ + first + c] =
                        to_exemplars[j * group_columns + c] + (j == first + c ? kernel_.noise : 0);
        }
        const algebra::Cholesky factor(std::move(matrix), size_, team);
        factor.invert(inverse.data(), team);
        for (size_t j = 0; j < size_; j++) {
            alpha_[j] = 0;
            for (size_t t = 0; t < size_; t++) {
                p_[j * capacity_ + t] = inverse[j * size_ + t];
                alpha_[j] += inverse[j * size_ + t] * exemplar_y_[t];
            }
        }
        team.for_each((rows_ + group_columns - 1) / group_columns, [&](size_t group, int) {
            const size_t first = group * group_columns, count = std::min(group_columns, rows_ - first);
            std::vector<double> points(width_ * group_columns), covariance(size_ * group_columns),
                q(size_ * group_columns);
            put_coordinates(validation_, first, count, points.data());
            covariances(exemplar_x_.data(), size_, points.data(), covariance.data());
            multiply({p_.data(), size_, size_, capacity_, covariance.data(), q.data()});
            for (size_t c = 0; c < count; c++) {
                double prediction = 0, explained = 0;
                for (size_t j = 0; j < size_; j++) {
                    const double value = q[j * group_columns + c];
                    q_[(first + c) * capacity_ + j] = qt_[j * rows_ + first + c] = value;
                    prediction += value * exemplar_y_[j];
                    explained += value * covariance[j * group_columns + c];
                }
                error_[first + c] = target(first + c) - prediction;
                variance_[first + c] = kernel_.signal - explained;
            }
        });
    }
    void sum_columns() {
        for (size_t j = 0; j < size_; j++) {
            const double* const q = qt_.data() + j * rows_;
            qq_[j] = qe_[j] = 0;
            for (size_t i = 0; i < rows_; i++) {
                qq_[j] += weight_[i] * q[i] * q[i];
                qe_[j] += weight_[i] * q[i] * error_[i];
            }
        }
    }

    RunContext& context_;
    const PointSet& validation_;
    const SquaredExponential& kernel_;
    const size_t rows_, width_, capacity_;
    const double total_weight_;
    size_t size_ = 0;
    unsigned changes_ = 0; // counts those since the last refresh
    const PointSet* candidates_ = nullptr;
    RowWeights weight_;
    Buffer<double> x_;          // holds validation rows in units of the length scales, row by row
    Buffer<double> exemplar_x_; // holds the same of the exemplars
    std::vector<uint64_t> exemplar_numbers_;
    Buffer<double> candidate_x_; // has width × 8 numbers for each group of eight
    Buffer<double> candidate_k_; // has rows × 8 numbers for each group of eight
    Buffer<double> p_;           // is capacity × capacity, and zero for slots without an exemplar
    Buffer<double> q_, qt_;      // are rows × capacity, and its transpose
    Buffer<double> error_, variance_;
    std::vector<double> exemplar_y_, alpha_, qq_, qe_;
};

// F_H: ½ log det(I + K_AA / σ²) is what observing the exemplars tells of the gp (the paper's 3.3 in a monotone
// form). Validation rows have no part in it.
class Information : public GpObjective {
  public:
    Information(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::Exemplars::left_out, context) {}

    bool is_estimate() const override { return false; }
    double utility() const override {
        return (-log_determinant_of_precision() - size() * std::log(kernel().noise)) / 2;
    }
    double utility_of(size_t) const override { return 0; }

  private:
    double addition_gain(const CandidateTerms& s) const override {
        return std::log(s.gamma / kernel().noise) / 2 * total_weight();
    }
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        return std::log(s.gamma * precision(j) + s.v[j] * s.v[j]) / 2 * total_weight();
    }
};

// F_V is the mean prior variance of the validation rows less their mean posterior variance (equation 3.4 of the paper).
class VarianceReduction : public GpObjective {
  public:
    // The mean over all rows is what is meant; of a sample, its own rows would be favoured.
    VarianceReduction(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::of_sample(input.has_all), context) {}

    double utility_of(size_t row) const override {
        return counts(row) ? kernel().signal - variance(row) : std::numeric_limits<double>::quiet_NaN();
    }

  private:
    double addition_gain(const CandidateTerms& s) const override { return s.rr / s.gamma; }
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        const double b = s.v[j] / precision(j), gamma = s.gamma + b * s.v[j];
        return (s.rr + 2 * b * s.qr[j] + b * b * s.qq[j]) / gamma - s.qq[j] / precision(j);
    }
};

// Scores the mean squared error of predicting the validation rows' targets, as the paper's Appendix II scores active
// sets. It is neither monotone nor submodular, so the paper's Theorem 4 does not hold for it.
class Prediction : public GpObjective {
  public:
    // A target is no prediction of itself: exemplars would be the rows that are hardest to predict.
    Prediction(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::Exemplars::left_out, context) {}

    // Returns what the squared error has come down by from that of the mean.
    double utility_of(size_t row) const override {
        if (!counts(row)) return std::numeric_limits<double>::quiet_NaN();
        return target(row) * target(row) - error(row) * error(row);
    }

  private:
    double addition_gain(const CandidateTerms& s) const override {
        const double g = s.residual / s.gamma;
        return 2 * g * s.er - g * g * s.rr;
    }
    // The errors become e + h Q_j − g r.
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        const double a = solution(j) / precision(j), b = s.v[j] / precision(j);
        const double g = (s.residual + s.v[j] * a) / (s.gamma + b * s.v[j]), h = a - b * g;
        return 2 * g * s.er + 2 * g * h * s.qr[j] - g * g * s.rr - h * h * s.qq[j] - 2 * h * s.qe[j];
    }
};

} // namespace

std::unique_ptr<Objective> make_objective(const ObjectiveInput& input, ThreadTeam& team, RunContext& context) {
    switch (input.options.objective) {
    case ObjectiveKind::information:
        return std::make_unique<Information>(input, context);
    case ObjectiveKind::variance:
        return std::make_unique<VarianceReduction>(input, context);
    case ObjectiveKind::prediction:
        return std::make_unique<Prediction>(input, context);
    default:
        return std::make_unique<Clustering>(input, team, context);
    }
}

} // namespace btml::exemplar
