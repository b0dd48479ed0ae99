// LambdaRank: within each query, rows of higher relevance should have higher scores. The gradient of a pair is the
// logistic one times what swapping both would change of the query's NDCG (Burges: From RankNet to LambdaRank to
// LambdaMART, 2010), with LightGBM's normalisation by differences of scores and by query.
//
// Rows of equal scores are ordered by a hash of their content, so that the order of the tables' rows does not matter.
#include "core/base/worker_contexts.hpp"
#include "core/boosting/objectives/derived_scores.hpp"

#include <array>
#include <tuple>

namespace btml::boosting {

namespace {

constexpr size_t truncation = 30; // a pair has one of the first so many
constexpr int max_relevance = 31;

double log2_of(double x) {
    return logarithm(x) * 1.4426950408889634;
}

// Rows of one query, of which all are trained on or all are held out: up to where the next one's begin.
struct Query {
    double best_gain; // the largest that an order of them gives; 0: nothing can be said of them
    uint32_t begin;   // in order_
};

// A row of the query at hand.
struct RankedRow {
    int64_t score;
    uint32_t place; // in order_, from the query's begin
    uint8_t relevance;
};

// Holds what a thread makes of one query after the other.
struct Ranking {
    std::vector<RankedRow> rows; // by falling score
    std::vector<double> residuals, hessians;

    static constexpr uint64_t row_bytes = sizeof(RankedRow) + 2 * sizeof(double);
};

double gain(int relevance) {
    return std::ldexp(1, relevance) - 1;
}

class RankScores final : public DerivedScores {
  public:
    RankScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options, ThreadTeam& team,
               RunContext& context)
        : DerivedScores(training, dataset, options, team, context),
          context_(context),
          scores_(context.memory(), "scores"),
          order_(context.memory(), "rows by query"),
          queries_(context.memory(), "queries") {
        bases_ = {0};
        check_targets([](double y) { return y >= 0 && y <= max_relevance && y == std::floor(y); },
                      "whole numbers from 0 to 31, the relevance of a row for its query");
        for (size_t i = 0; i < truncation; i++) discounts_.push_back(1 / log2_of(static_cast<double>(i) + 2));
        sort_rows(*dataset.query, *dataset.row_hashes);
        find_queries(*dataset.query);
        dataset.query.reset();
        dataset.row_hashes.reset();
        scores_ = Buffer<int64_t>(context.memory(), scores_.what(), training.rows(), 0);
        derive_all();
    }

    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override {
        add_values(leaves, index, scores_.data());
        derive_all();
    }

    HeldOutRow held_out_row(uint32_t row) const override {
        return {target(row), number_of(scores_[row]), static_cast<double>(training_.weight(row)), false};
    }
    std::optional<double> holdout_ndcg() const override { return holdout_ndcg_; }

  private:
    static double number_of(int64_t score) { return std::ldexp(static_cast<double>(score), -score_bits); }
    double discount(size_t rank) const {
        return rank < truncation ? discounts_[rank] : 1 / log2_of(static_cast<double>(rank) + 2);
    }
    int relevance(uint32_t row) const { return static_cast<int>(target(row)); }
    uint32_t end_of(size_t query) const {
        return query + 1 < queries_.size() ? queries_[query + 1].begin : static_cast<uint32_t>(order_.size());
    }
    bool is_trained(const Query& query) const { return training_.role(order_[query.begin]) == Role::train; }

    void sort_rows(const Buffer<uint32_t>& query, const Buffer<uint64_t>& hashes) {
        order_.resize(training_.rows());
        size_t kept = 0;
        context_.for_each(training_.rows(), 1, [&](uint64_t i) {
            const auto row = static_cast<uint32_t>(i);
            if (training_.role(row) != Role::ignored) order_[kept++] = row;
        });
        order_.resize(kept);
        const auto key = [&](uint32_t row) {
            return std::tuple(query[training_.target_row(row)], training_.role(row) != Role::train, hashes[row]);
        };
        std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
            context_.worked(2);
            return key(a) < key(b);
        });
    }

    void find_queries(const Buffer<uint32_t>& query) {
        const auto begins_query = [&](size_t i) {
            if (i == 0) return true;
            const uint32_t row = order_[i], before = order_[i - 1];
            return query[training_.target_row(row)] != query[training_.target_row(before)] ||
                   training_.role(row) != training_.role(before);
        };
        size_t count = 0;
        context_.for_each(order_.size(), 2, [&](uint64_t i) { count += begins_query(i); });
        queries_.reserve(count);
        context_.for_each(order_.size(), 2, [&](uint64_t i) {
            if (begins_query(i)) queries_.append_reserved({0, static_cast<uint32_t>(i)});
        });
        for (size_t q = 0; q < queries_.size(); q++) {
            Query& found = queries_[q];
            found.best_gain = best_gain(found.begin, end_of(q));
            max_query_rows_ = std::max<size_t>(max_query_rows_, end_of(q) - found.begin);
            if (found.best_gain > 0) (is_trained(found) ? trained_queries_ : held_queries_)++;
        }
        if (trained_queries_ == 0)
            throw DegenerateTarget("all rows to train on have the relevance 0", "Mark some of them as relevant.", {0});
    }

    double best_gain(uint32_t begin, uint32_t end) const {
        std::array<uint32_t, max_relevance + 1> counts{};
        context_.for_each(end - begin, 2, [&](uint64_t i) { counts[relevance(order_[begin + i])]++; });
        double best = 0;
        for (size_t i = 0, y = max_relevance; i < truncation && y > 0;) {
            if (counts[y] == 0) {
                y--;
                continue;
            }
            counts[y]--;
            best += gain(static_cast<int>(y)) * discount(i++);
        }
        return best;
    }

    void rank(size_t query, Ranking& ranking, RunContext& context) const {
        const uint32_t begin = queries_[query].begin, count = end_of(query) - begin;
        ranking.rows.resize(count);
        context.for_each(count, 5, [&](uint64_t i) {
            const uint32_t row = order_[begin + i];
            ranking.rows[i] = {scores_[row], static_cast<uint32_t>(i), static_cast<uint8_t>(relevance(row))};
        });
        std::sort(ranking.rows.begin(), ranking.rows.end(), [&](const RankedRow& a, const RankedRow& b) {
            context.worked(1);
            return a.score != b.score ? a.score > b.score : a.place < b.place;
        });
    }

    // Returns the NDCG of the first rows; rows of equal scores share their discounts.
    double ndcg(const Query& query, const Ranking& ranking, RunContext& context) const {
        const std::vector<RankedRow>& rows = ranking.rows;
        double sum = 0;
        for (size_t begin = 0, end = 0; begin < std::min(rows.size(), truncation); begin = end) {
            double gains = 0, shares = 0;
            for (; end < rows.size() && rows[end].score == rows[begin].score; end++) {
                gains += gain(rows[end].relevance);
                shares += end < truncation ? discount(end) : 0;
                context.worked(1);
            }
            sum += gains * shares / static_cast<double>(end - begin);
        }
        return std::min(1.0, sum / query.best_gain); // what rounding leaves above
    }

    void derive(const Query& query, Ranking& ranking, RunContext& context) const {
        const size_t count = ranking.rows.size();
        ranking.residuals.assign(count, 0);
        ranking.hessians.assign(count, 0);
        const bool spread = ranking.rows.front().score != ranking.rows.back().score;
        double total = 0;
        for (size_t i = 0; i < std::min(count, truncation); i++)
            derive_pairs(query, i, ranking, spread, total, context);
        if (total <= 0) return;
        const double factor = log2_of(1 + total) / total;
        for (double& residual : ranking.residuals) residual *= factor;
        for (double& hessian : ranking.hessians) hessian *= factor;
    }

    // Adds the gradients of the pairs of row i with those behind it.
    void derive_pairs(const Query& query, size_t i, Ranking& ranking, bool spread, double& total,
                      RunContext& context) const {
        const RankedRow row = ranking.rows[i];
        const double score = number_of(row.score);
        context.for_each(ranking.rows.size() - i - 1, 5, [&](uint64_t others_before) {
            const size_t j = i + 1 + others_before;
            const RankedRow& other = ranking.rows[j];
            if (other.relevance == row.relevance) return;
            const bool is_higher = row.relevance > other.relevance;
            const size_t high = is_higher ? i : j, low = is_higher ? j : i;
            const double difference = (is_higher ? 1 : -1) * (score - number_of(other.score));
            double change = std::fabs(gain(row.relevance) - gain(other.relevance)) *
                            std::fabs(discount(i) - discount(j)) / query.best_gain;
            if (spread) change /= 0.01 + std::fabs(difference);
            const double p = logistic(-difference), residual = p * change, hessian = p * (1 - p) * change;
            ranking.residuals[high] += residual;
            ranking.residuals[low] -= residual;
            ranking.hessians[high] += hessian;
            ranking.hessians[low] += hessian;
            total += 2 * residual;
        });
    }

    // The loss is 1 − the mean NDCG of the first rows.
    void derive_all() {
        TeamSums<Found> found(team_);
        TeamSums<SumsByRole<ExactSum>> ndcgs(team_);
        const Reservation scratch(context_.memory(), "rows of a query",
                                  team_.size() * max_query_rows_ * Ranking::row_bytes);
        std::vector<Ranking> rankings(team_.size());
        WorkerContexts contexts(context_, team_.size(), 0, "ranks");
        constexpr size_t queries_of_item = 64;
        const auto body = [&](size_t item, int worker) {
            contexts.run(worker, [&](RunContext& context) {
                Ranking& ranking = rankings[worker];
                const size_t end = std::min(queries_.size(), (item + 1) * queries_of_item);
                for (size_t q = item * queries_of_item; q < end; q++) {
                    const Query& query = queries_[q];
                    const bool trained = is_trained(query);
                    rank(q, ranking, context);
                    if (query.best_gain > 0)
                        (trained ? ndcgs[worker].trained : ndcgs[worker].held_out).add(ndcg(query, ranking, context));
                    if (!trained) continue;
                    derive(query, ranking, context);
                    context.for_each(ranking.rows.size(), 5, [&](uint64_t i) {
                        keep(order_[query.begin + ranking.rows[i].place], static_cast<float>(ranking.residuals[i]),
                             static_cast<float>(ranking.hessians[i]), found[worker]);
                    });
                }
            });
        };
        team_.for_each((queries_.size() + queries_of_item - 1) / queries_of_item, body, [&] { contexts.poll(); });
        choose_grids(found.total());
        const SumsByRole<ExactSum> sums = ndcgs.total();
        train_loss_ = 1 - sums.trained.value() / trained_queries_;
        if (held_queries_ == 0) return;
        holdout_ndcg_ = sums.held_out.value() / held_queries_;
        holdout_loss_ = 1 - *holdout_ndcg_;
    }

    RunContext& context_;
    Buffer<int64_t> scores_;
    Buffer<uint32_t> order_; // rows by query, rows that are trained on first, by their hashes
    Buffer<Query> queries_;
    size_t max_query_rows_ = 0;                     // of a query
    double trained_queries_ = 0, held_queries_ = 0; // of which something can be said
    std::vector<double> discounts_;
    std::optional<double> holdout_ndcg_;
};

// Counts the rows of each query.
uint64_t bytes_of_queries(const Dataset& dataset, int threads, RunContext& context) {
    const Buffer<uint32_t>& query = *dataset.query;
    const uint64_t count = query.empty() ? 0 : *std::max_element(query.begin(), query.end()) + uint64_t{1};
    Buffer<uint32_t> rows(context.memory(), "rows by query", count, 0);
    const RowIds ids = dataset.target_ids();
    context.for_each(dataset.rows, 2, [&](uint64_t row) { rows[query[ids[row]]]++; });
    const uint64_t largest = count == 0 ? 0 : *std::max_element(rows.begin(), rows.end());
    const uint64_t lists = std::min(dataset.rows, dataset.holdout_table < 0 ? count : 2 * count);
    return lists * sizeof(Query) + static_cast<uint64_t>(threads) * largest * Ranking::row_bytes;
}

} // namespace

constinit const Objective rank_objective{.metrics = {HoldoutMetric::ndcg},
                                         .lightgbm = {{"lambdarank"}, {"rank_xendcg"}},
                                         .xgboost = {{"rank:ndcg"}, {"rank:pairwise"}, {"rank:map"}},
                                         .ranks = true,
                                         .start = start_scores<RankScores>,
                                         .bytes_of_row = sizeof(int64_t) + sizeof(Derivative) + sizeof(uint32_t),
                                         .other_bytes = bytes_of_queries};

} // namespace btml::boosting
