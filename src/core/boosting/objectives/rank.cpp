// LambdaRank: within each query, rows of higher relevance should have higher scores. The gradient of a pair is the
// logistic one times what swapping both would change of the query's NDCG (Burges: From RankNet to LambdaRank to
// LambdaMART, 2010), with LightGBM's normalisation by differences of scores and by query.
//
// Rows of equal scores are ordered by a hash of their content, so that the order of the tables' rows does not matter.
#include "core/base/worker_contexts.hpp"
#include "core/boosting/objectives/derived_scores.hpp"
#include "core/boosting/objectives/table.hpp"

#include <numeric>

namespace btml::boosting {

namespace {

constexpr size_t truncation = 30; // a pair has one of the first so many
constexpr int max_relevance = 31;

double log2_of(double x) {
    return logarithm(x) * 1.4426950408889634;
}

// Rows of one query, of which all are trained on or all are held out.
struct Query {
    uint32_t begin, end; // in order_
    bool trained;
    double best_gain; // the largest that an order of them gives; 0: nothing can be said of them
};

class RankScores final : public DerivedScores {
  public:
    RankScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options, ThreadTeam& team,
               RunContext& context)
        : DerivedScores(training, dataset, options, team, context),
          context_(context),
          hashes_(std::move(*dataset.row_hashes)),
          scores_(context.memory(), "scores", training.rows(), 0),
          order_(context.memory(), "rows by query"),
          queries_(context.memory(), "queries") {
        bases_ = {0};
        check_targets([](double y) { return y >= 0 && y <= max_relevance && y == std::floor(y); },
                      "whole numbers from 0 to 31, the relevance of a row for its query");
        for (size_t i = 0; i < truncation; i++) discounts_.push_back(1 / log2_of(static_cast<double>(i) + 2));
        find_queries(*dataset.query);
        derive_all();
    }

    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override {
        add_values(leaves, index, scores_.data());
        derive_all();
    }

    HeldOutRow held_out_row(uint32_t row) const override {
        return {target(row), score_of(row), static_cast<double>(training_.weight(row)), false};
    }
    std::optional<double> holdout_ndcg() const override { return holdout_ndcg_; }

  private:
    struct Ranking {
        std::vector<uint32_t> rows; // by falling score
        std::vector<double> residuals, hessians;
    };

    double score_of(uint32_t row) const { return std::ldexp(static_cast<double>(scores_[row]), -score_bits); }
    double discount(size_t rank) const {
        return rank < truncation ? discounts_[rank] : 1 / log2_of(static_cast<double>(rank) + 2);
    }
    static double gain(double relevance) { return std::ldexp(1, static_cast<int>(relevance)) - 1; }

    void find_queries(const Buffer<uint32_t>& query);
    void add_query(uint32_t begin, uint32_t end);
    void rank(const Query& query, Ranking& ranking, RunContext& context) const;
    double ndcg(const Query& query, const Ranking& ranking) const;
    void derive(const Query& query, Ranking& ranking, RunContext& context) const;
    void derive_pairs(const Query& query, size_t i, Ranking& ranking, bool spread, double& total) const;
    void derive_all();

    RunContext& context_;
    Buffer<uint64_t> hashes_;
    Buffer<int64_t> scores_;
    Buffer<uint32_t> order_; // rows by query, rows that are trained on first
    Buffer<Query> queries_;
    size_t max_query_rows_ = 0; // of a query
    std::vector<double> discounts_;
    std::optional<double> holdout_ndcg_;
};

void RankScores::find_queries(const Buffer<uint32_t>& query) {
    context_.for_each(training_.rows(), 1, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (training_.role(row) != Role::ignored) order_.push_back(row);
    });
    const auto key = [&](uint32_t row) {
        return std::pair(query[training_.target_row(row)], training_.role(row) != Role::train);
    };
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
        context_.worked(1);
        return key(a) < key(b);
    });
    for (uint32_t begin = 0, end = 0; begin < order_.size(); begin = end) {
        while (end < order_.size() && key(order_[end]) == key(order_[begin])) end++;
        add_query(begin, end);
    }
}

void RankScores::add_query(uint32_t begin, uint32_t end) {
    std::vector<double> gains;
    for (uint32_t i = begin; i < end; i++) gains.push_back(gain(target(order_[i])));
    const size_t first = std::min<size_t>(truncation, gains.size());
    std::partial_sort(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(first), gains.end(), std::greater<>());
    double best = 0;
    for (size_t i = 0; i < first; i++) best += gains[i] * discount(i);
    queries_.push_back({begin, end, training_.role(order_[begin]) == Role::train, best});
    max_query_rows_ = std::max(max_query_rows_, gains.size());
    context_.worked(100 * gains.size());
}

void RankScores::rank(const Query& query, Ranking& ranking, RunContext& context) const {
    ranking.rows.assign(order_.begin() + query.begin, order_.begin() + query.end);
    std::sort(ranking.rows.begin(), ranking.rows.end(), [&](uint32_t a, uint32_t b) {
        context.worked(1);
        return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : hashes_[a] < hashes_[b];
    });
}

// Of the first rows; rows of equal scores share their discounts.
double RankScores::ndcg(const Query& query, const Ranking& ranking) const {
    const size_t count = ranking.rows.size();
    double sum = 0;
    for (size_t begin = 0, end = 0; begin < std::min(count, truncation); begin = end) {
        double gains = 0, shares = 0;
        for (; end < count && scores_[ranking.rows[end]] == scores_[ranking.rows[begin]]; end++) {
            gains += gain(target(ranking.rows[end]));
            shares += end < truncation ? discount(end) : 0;
        }
        sum += gains * shares / static_cast<double>(end - begin);
    }
    return std::min(1.0, sum / query.best_gain); // what rounding leaves above
}

// Adds the gradients of the pairs of row i with those behind it.
void RankScores::derive_pairs(const Query& query, size_t i, Ranking& ranking, bool spread, double& total) const {
    const double y = target(ranking.rows[i]), score = score_of(ranking.rows[i]);
    for (size_t j = i + 1; j < ranking.rows.size(); j++) {
        const double other = target(ranking.rows[j]);
        if (other == y) continue;
        const size_t high = y > other ? i : j, low = y > other ? j : i;
        const double difference = (y > other ? 1 : -1) * (score - score_of(ranking.rows[j]));
        double change = std::fabs(gain(y) - gain(other)) * std::fabs(discount(i) - discount(j)) / query.best_gain;
        if (spread) change /= 0.01 + std::fabs(difference);
        const double p = logistic(-difference), residual = p * change, hessian = p * (1 - p) * change;
        ranking.residuals[high] += residual;
        ranking.residuals[low] -= residual;
        ranking.hessians[high] += hessian;
        ranking.hessians[low] += hessian;
        total += 2 * residual;
    }
}

void RankScores::derive(const Query& query, Ranking& ranking, RunContext& context) const {
    const size_t count = ranking.rows.size();
    ranking.residuals.assign(count, 0);
    ranking.hessians.assign(count, 0);
    const bool spread = scores_[ranking.rows.front()] != scores_[ranking.rows.back()];
    double total = 0;
    for (size_t i = 0; i < std::min(count, truncation); i++) {
        derive_pairs(query, i, ranking, spread, total);
        context.worked(50 * count);
    }
    if (total <= 0) return;
    const double factor = log2_of(1 + total) / total;
    for (double& residual : ranking.residuals) residual *= factor;
    for (double& hessian : ranking.hessians) hessian *= factor;
}

// The loss is 1 − the mean NDCG of the first rows.
void RankScores::derive_all() {
    WorkerSums<Found> found(team_.size());
    WorkerSums<ExactSums> ndcgs(team_.size());
    const Reservation scratch(context_.memory(), "rows of a query",
                              team_.size() * max_query_rows_ * (sizeof(uint32_t) + 2 * sizeof(double)));
    std::vector<Ranking> rankings(team_.size());
    WorkerContexts contexts(context_, team_.size(), 0, "ranks");
    constexpr size_t queries_of_item = 64;
    const auto body = [&](size_t item, int worker) {
        contexts.run(worker, [&](RunContext& context) {
            Ranking& ranking = rankings[worker];
            const size_t end = std::min(queries_.size(), (item + 1) * queries_of_item);
            for (size_t q = item * queries_of_item; q < end; q++) {
                const Query& query = queries_[q];
                rank(query, ranking, context);
                if (query.best_gain > 0)
                    (query.trained ? ndcgs[worker].trained : ndcgs[worker].held_out).add(ndcg(query, ranking));
                if (!query.trained) continue;
                derive(query, ranking, context);
                for (size_t i = 0; i < ranking.rows.size(); i++)
                    keep(ranking.rows[i], static_cast<float>(ranking.residuals[i]),
                         static_cast<float>(ranking.hessians[i]), found[worker]);
            }
        });
    };
    team_.for_each((queries_.size() + queries_of_item - 1) / queries_of_item, body, [&] { contexts.poll(); });
    choose_grids(found.total());
    const ExactSums sums = ndcgs.total();
    const auto count = [&](bool trained) {
        return static_cast<double>(std::count_if(queries_.begin(), queries_.end(), [&](const Query& query) {
            return query.trained == trained && query.best_gain > 0;
        }));
    };
    if (count(true) == 0)
        throw DegenerateTarget("all rows to train on have the relevance 0", "Mark some of them as relevant.", {0});
    train_loss_ = 1 - sums.trained.value() / count(true);
    if (count(false) == 0) return;
    holdout_ndcg_ = sums.held_out.value() / count(false);
    holdout_loss_ = 1 - *holdout_ndcg_;
}

class Rank final : public Objective {
  public:
    bool hessian_is_count() const override { return false; }
    uint64_t row_bytes(size_t) const override { return 2 * sizeof(int64_t) + sizeof(uint64_t) + sizeof(uint32_t); }
    std::unique_ptr<RowScores> start(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                     ThreadTeam& team, RunContext& context) const override {
        return std::make_unique<RankScores>(training, dataset, options, team, context);
    }
};

} // namespace

const Objective& rank_objective() {
    static constinit const Rank objective;
    return objective;
}

} // namespace btml::boosting
