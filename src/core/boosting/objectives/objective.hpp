// Losses that boosting can minimise.
//
// A new one takes a file in this folder and its name in BTML_OBJECTIVES. The file defines an Objective: what others ask
// of the loss, and how it starts RowScores, the scores of all rows on a grid on which every sum is exact. Growing,
// splitting, prediction, metrics and exchange know no more of a loss than these two.
#pragma once

#include "core/boosting/objectives/link.hpp"
#include "core/boosting/rows/row_index.hpp"

#include <limits>
#include <memory>
#include <optional>

namespace btml::boosting {

// Says how a leaf's value follows from its sums, in units of the scores: the value that minimises the loss's second
// order approximation with penalties l1 · |value| + l2 · value² / 2, brought between the bounds, times the learning
// rate.
struct LeafRule {
    double learning_rate = 1, l1 = 0, l2 = 0;
    double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

// Returns learning_rate · sum / (hessian + l2) within the rule, everything in units of one grid.
double shrunken_value(double sum, double hessian, const LeafRule& rule);
// The same rounded to whole units.
int64_t rounded_leaf_value(double sum, double hessian, const LeafRule& rule);

// The metric of held-out rows that is logged beside their loss.
enum class HoldoutMetric : uint8_t {
    rmse,
    mae,
    pinball,
    poisson_deviance,
    log_loss,
    brier,
    accuracy,
    auc,
    average_precision,
    ndcg,
};
inline constexpr const char* holdout_metric_names[] = {"rmse",  "mae",      "pinball", "poisson_deviance",  "log_loss",
                                                       "brier", "accuracy", "auc",     "average_precision", "ndcg"};

// A row held out as metrics see it. Losses of y − F may take the same number from the target and the prediction.
// Several labels have the target 1, and the probability of the true label as prediction.
struct HeldOutRow {
    double target, prediction, weight;
    bool is_correct; // the likeliest label is the true one
};

class RowScores;

// Returns `number` / `unit`, rounded. Error out_of_range where that is more than `most` in magnitude.
int64_t units_of(double number, double unit, double most);

// Knows where training stands: what the trees so far leave of the loss, however the rows are held.
class Scores {
  public:
    static constexpr int64_t max_value = int64_t{1} << 62;

    virtual ~Scores() = default;

    // Every row's scores before the first tree: one, or one for each label where every iteration has a tree for each.
    virtual std::vector<double> bases() const = 0;
    virtual SumUnits units() const = 0;
    // Returns what a leaf with these sums should add to the scores of its rows, as a whole number that stands for one
    // that a double holds exactly; and that as a number.
    virtual int64_t leaf_value(Stats total, const LeafRule& rule) const = 0;
    virtual double to_number(int64_t value) const = 0;
    // Returns the value that is nearest to a number. Error out_of_range for one so large that sums would overflow.
    virtual int64_t to_value(double number) const = 0;
    // Says whether it may be a leaf's value: another process may send anything.
    virtual bool is_value(int64_t value) const { return value >= -max_value && value <= max_value; }
    // Returns what the log reports: the mean loss; of squared loss, without the half.
    virtual double train_loss() const = 0;
    virtual std::optional<double> holdout_loss() const = 0;
    // Null unless the rows are held one by one.
    virtual const RowScores* rows() const { return nullptr; }
};

// The scores of rows that are held one by one. Rows come in lists, so that a call costs nothing beside its work.
class RowScores : public Scores {
  public:
    struct Leaf {
        const NodeRows* rows;
        int64_t value; // from leaf_value
    };

    const RowScores* rows() const final { return this; }
    virtual const TrainingRows& training() const = 0;
    virtual HeldOutRow held_out_row(uint32_t row) const = 0;
    // Returns the mean over queries, of ranks.
    virtual std::optional<double> holdout_ndcg() const { return {}; }
    // Makes the next tree one of this score, where rows have several.
    virtual void select(int /*score*/) {}
    // out[i] is what rows[i] adds to sums; its hessian is at least one unit, since sums of it are divided by. Training
    // rows only.
    virtual void gather(const RowList& rows, Stats* out) const = 0;
    // Gathers them with their tallies. Unless overridden, the hessian is the count.
    virtual void gather_tallied(const RowList& rows, NodeSums* out) const;
    // Tells what all gathered stats fit.
    virtual StatsFormat stats_format() const { return StatsFormat::full; }
    // Returns b where every gathered hessian is 1 and no sum passes 2^b − 1 in magnitude; 64: they may.
    virtual int gathered_bits() const { return 64; }
    // Returns b where a row may be counted by adding 2^b to its hessian: the sum of the hessians stays below 2^b, and
    // no sum overflows. 0: there is no such b.
    virtual int packed_bits() const { return 0; }
    // Says whether a leaf's value follows from its rows rather than from its sums.
    virtual bool renews() const { return false; }
    // Returns that value of all rows that the sets have.
    virtual int64_t renewed_value(const std::vector<const RowSet*>& /*rows*/, const RowIndex& /*index*/,
                                  const LeafRule& /*rule*/) const {
        return 0;
    }
    // Adds each leaf's value to the selected scores of its rows, and updates the losses. The leaves cover every row.
    virtual void add(const std::vector<Leaf>& leaves, const RowIndex& index) = 0;
};

// Says that no score is best for the targets: they are all one label, or all 0 under a logarithmic link.
class DegenerateTarget : public Error {
  public:
    // bases: the scores of a constant model, which predicts as if half a row had another target.
    DegenerateTarget(std::string message, std::string hint, std::vector<double> bases = {})
        : Error(ErrorCode::invalid_argument, std::move(message), {}, std::move(hint)), bases_(std::move(bases)) {}
    static DegenerateTarget of_label(const std::string& label, std::vector<double> bases = {}) {
        return {format("all rows to train on have the label \"%s\"", label.c_str()),
                "Train on rows of two labels or more.", std::move(bases)};
    }
    // All targets are this number.
    static DegenerateTarget of_number(double target, double base) {
        return {"the target is " + shortest(target) + " in all rows to train on",
                "Other objectives, such as \"squared\", take such targets.",
                {base}};
    }

    const std::vector<double>& bases() const { return bases_; }

  private:
    std::vector<double> bases_;
};

// Every objective, in the order of its number: its name, and with "_objective" behind it that of the Objective.
// clang-format off
#define BTML_OBJECTIVES(line) \
    line(squared)    \
    line(absolute)   \
    line(huber)      \
    line(quantile)   \
    line(poisson)    \
    line(gamma)      \
    line(tweedie)    \
    line(binary)     \
    line(multiclass) \
    line(rank)
// clang-format on
#define BTML_OBJECTIVE_NUMBER(name) name,
#define BTML_OBJECTIVE_NAME(name) #name,

enum class ObjectiveNumber : uint8_t {
    automatic, // by the target: squared for numbers, binary for two labels, multiclass for more
    BTML_OBJECTIVES(BTML_OBJECTIVE_NUMBER)
};
inline constexpr const char* objective_names[] = {"auto", BTML_OBJECTIVES(BTML_OBJECTIVE_NAME)};

// What a loss takes of the options.
struct LossOptions {
    ObjectiveNumber objective;
    double alpha, power;
    bool balanced; // labels weigh rows / (labels · rows of the label)
    // Scores before the first tree that training is to start from; empty: the best for all rows.
    std::vector<double> bases = {};
};

// What another library calls a loss, and how predictions follow from scores there.
struct ForeignObjective {
    const char* name;
    Link link = Link::identity;
    bool has_labels = false; // the target is a label

    // Returns how many labels a model with so many scores has.
    size_t labels(size_t scores) const { return !has_labels ? 0 : has_scores_by_label(link) ? scores : 2; }
};

// What a loss is to others.
struct Objective {
    // How predictions follow from scores.
    Link link = Link::identity;
    // The metrics of rows held out that go with it. The first is nearest to the loss.
    std::initializer_list<HoldoutMetric> metrics;
    // The objectives of LightGBM and XGBoost that are read as this one. It is written as the first of LightGBM's that
    // has labels where the model has.
    std::initializer_list<ForeignObjective> lightgbm, xgboost;
    // Every row's hessian is its weight, so that a sum of hessians is a count.
    bool hessian_is_count = false;
    // Sums over a join follow from sums of products, so that the join's rows need not be held.
    bool factorises = false;
    bool takes_labels = false; // as targets
    bool ranks = false;        // rows are compared with others of their query
    bool takes_power = false;  // the option
    // The loss is in no unit of the target, so that differences of it say by themselves how large they are.
    bool is_without_unit = false;
    // What the options are where they say nothing; without one, they do not matter.
    std::optional<double> default_alpha = {}, default_max_step = {};
    // Returns the scores of all rows before the first tree, and takes what it needs out of the dataset. Errors
    // out_of_range for a target that the loss is not defined for, or that is too large; DegenerateTarget.
    std::unique_ptr<RowScores> (*start)(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                        ThreadTeam& team, RunContext& context);
    // The bytes that those take for each row, for each row and label, and beside.
    uint64_t bytes_of_row, bytes_of_row_and_label = 0;
    uint64_t (*other_bytes)(const Dataset& dataset, int threads, RunContext& context) = nullptr;
    const struct DerivedLoss* loss = nullptr; // of a loss with one score a row

    // Says whether each row has a score for each label.
    bool has_scores_by_label() const { return boosting::has_scores_by_label(link); }
    // Says whether predictions are numbers of the target's kind, which may be off by some number.
    bool has_interval() const { return !takes_labels && !ranks; }
    // Returns the bytes of RowScores for each row, of so many labels.
    uint64_t row_bytes(size_t labels) const { return bytes_of_row + labels * bytes_of_row_and_label; }
    // Returns the bytes of RowScores for all rows.
    uint64_t bytes(const Dataset& dataset, int threads, RunContext& context) const {
        return row_bytes(dataset.labels.size()) * dataset.rows +
               (other_bytes ? other_bytes(dataset, threads, context) : 0);
    }
};

// Starts scores of a type that is made of these.
template <class Scores>
std::unique_ptr<RowScores> start_scores(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                        ThreadTeam& team, RunContext& context) {
    return std::make_unique<Scores>(training, dataset, options, team, context);
}

#define BTML_OBJECTIVE_DECLARATION(name) extern const Objective name##_objective;
BTML_OBJECTIVES(BTML_OBJECTIVE_DECLARATION)

const Objective& objective_of(ObjectiveNumber number); // of automatic, squared

// Returns what a library calls so, and which objective it is; null where there is none.
std::pair<const ForeignObjective*, ObjectiveNumber>
find_objective(std::initializer_list<ForeignObjective> Objective::*library, std::string_view name);

inline const char* name_of(ObjectiveNumber number) {
    return objective_names[static_cast<size_t>(number)];
}

} // namespace btml::boosting
