// One of several labels: a score for each, and every iteration a tree for each. A label's probability is e^(its score)
// over the sum of all labels'; the hessian p(1−p) is multiplied by K/(K−1), as K scores have K−1 degrees of freedom
// (Friedman: Greedy Function Approximation, Algorithm 6).
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

class LabelScores final : public DerivedScores {
  public:
    LabelScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options, ThreadTeam& team,
                RunContext& context)
        : DerivedScores(training, dataset, options, team, context),
          labels_(dataset.labels.size()),
          scores_(context.memory(), "scores", labels_ * training.rows()),
          log_sums_(context.memory(), "sums of exponentials", training.rows()) {
        bases_ = options.bases;
        if (bases_.empty()) find_bases(dataset.labels);
        for (size_t label = 0; label < labels_; label++) {
            const auto base = static_cast<int64_t>(std::ldexp(bases_[label], score_bits));
            for_pieces(team, training.rows(), [&](size_t begin, size_t end, int) {
                std::fill(&scores_of(label)[begin], &scores_of(label)[begin] + (end - begin), base);
            });
        }
        start_losses(sum_losses());
        set_losses(sum_losses());
    }

    // Derivatives go by all scores as they were before the iteration.
    void select(int score) override {
        selected_ = static_cast<size_t>(score);
        const double factor = static_cast<double>(labels_) / static_cast<double>(labels_ - 1);
        TeamSums<Found> found(team_);
        for_each_list([&](const RowList& rows, int worker) {
            double room[derivative_block];
            const LabelRows of{.rows = rows.count,
                               .scores = scores_of(selected_) + rows.first,
                               .log_sums = &log_sums_[rows.first],
                               .labels = targets_of(rows, room),
                               .unit = unit,
                               .label = static_cast<double>(selected_),
                               .factor = factor};
            BlockSums sums;
            derive_label(of, &derivatives_[rows.first], sums);
            weigh(rows, sums, found[worker]);
        });
        choose_grids(found.total());
    }

    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override {
        add_values(leaves, index, scores_of(selected_));
        if (selected_ + 1 == labels_) set_losses(sum_losses());
    }

    HeldOutRow held_out_row(uint32_t row) const override {
        size_t likeliest = 0;
        for (size_t label = 1; label < labels_; label++)
            if (score_of(label, row) > score_of(likeliest, row)) likeliest = label;
        const double logarithm_of_p = std::min(0.0, score_of(label_of(row), row) - log_sums_[row]);
        return {1, exponential(logarithm_of_p), static_cast<double>(training_.weight(row)), likeliest == label_of(row)};
    }

  private:
    static constexpr double unit = 1.0 / (int64_t{1} << score_bits);

    int64_t* scores_of(size_t label) { return scores_.data() + label * training_.rows(); }
    double score_of(size_t label, size_t row) const {
        return static_cast<double>(scores_[label * training_.rows() + row]) * unit;
    }
    size_t label_of(uint32_t row) const { return static_cast<size_t>(target(row)); }

    // The logarithm of each label's share, which is at least that of half a row.
    void find_bases(const std::vector<std::string>& names) {
        TeamSums<SumList<ExactSum>> by_worker(team_);
        for (int worker = 0; worker < team_.size(); worker++) by_worker[worker].resize(labels_);
        for_each_list([&](const RowList& rows, int worker) {
            for (size_t i = 0; i < rows.count; i++)
                if (training_.role(rows[i]) == Role::train)
                    by_worker[worker][label_of(rows[i])].add(loss_weight(rows[i]));
        });
        SumList<ExactSum> sums = by_worker.total();
        sums.resize(labels_);
        size_t present = 0;
        const double least = 0.5 / static_cast<double>(training_.train_rows());
        for (size_t label = 0; label < labels_; label++) {
            const double share = sums[label].value() / train_weight_;
            if (share > 0) present++;
            bases_.push_back(rounded(logarithm(std::max(share, least)), Link::softmax));
        }
        if (present < 2) {
            const auto only = std::max_element(bases_.begin(), bases_.end()) - bases_.begin();
            throw DegenerateTarget::of_label(names[static_cast<size_t>(only)], bases_);
        }
    }

    void add_up(const RowList& rows) {
        alignas(64) double scores[derivative_block], largest[derivative_block], sums[derivative_block] = {};
        const size_t padded = (rows.count + lanes - 1) / lanes * lanes;
        load_scores(scores_of(0) + rows.first, unit, rows.count, largest);
        for (size_t label = 1; label < labels_; label++) {
            load_scores(scores_of(label) + rows.first, unit, rows.count, scores);
            raise_to_scores(scores, rows.count, largest);
        }
        for (size_t label = 0; label < labels_; label++) {
            load_scores(scores_of(label) + rows.first, unit, rows.count, scores);
            add_exponentials(scores, largest, padded, sums);
        }
        take_logarithms(largest, sums, padded, scores);
        std::copy_n(scores, rows.count, &log_sums_[rows.first]);
    }

    // Finds what derivatives of the next iteration go by, too.
    DerivedScores::Found sum_losses() {
        TeamSums<Found> found(team_);
        for_each_list([&](const RowList& rows, int worker) {
            Found own;
            add_up(rows);
            for (size_t i = 0; i < rows.count; i++) {
                const uint32_t row = rows[i];
                const Role role = training_.role(row);
                if (role == Role::ignored) continue;
                add_loss(row, role, log_sums_[row] - score_of(label_of(row), row), own.losses);
            }
            found[worker] += own;
        });
        return found.total();
    }

    const size_t labels_;
    Buffer<int64_t> scores_;  // label by label
    Buffer<double> log_sums_; // by row: ln Σ e^score
    size_t selected_ = 0;
};

} // namespace

constinit const Objective multiclass_objective{
    .link = Link::softmax,
    .metrics = {HoldoutMetric::log_loss, HoldoutMetric::accuracy},
    .lightgbm = {{"multiclass", Link::softmax, true}, {"multiclassova", Link::one_vs_all, true}},
    .xgboost = {{"multi:softmax", Link::softmax, true}, {"multi:softprob", Link::softmax, true}},
    .takes_labels = true,
    .is_without_unit = true,
    .default_max_step = 8,
    .start = start_scores<LabelScores>,
    .bytes_of_row = 2 * sizeof(int64_t),
    .bytes_of_row_and_label = sizeof(int64_t)};

} // namespace btml::boosting
