// Computes nested sums over data (Holmes, Gray, Isbell: Ultrafast Monte Carlo for Statistical Summations, equations 1
// and 2) of depth two, a mean over rows i of a function of a sum for each:
//
//   score (1/n) Σ_i f(c, B(c)),   c = constants(i),   base sum B(c) = Σ_{j ∈ I(c)} g(c, j),
//
// by sampling (Algorithms 1 to 3). A score is a small type:
//
//   struct Score {
//       struct Constants;                         // c
//       struct Total;                             // what is summed, in a vector space. Several sums of the same
//                                                 // terms are components of one total, and so share their samples.
//           void clear();  void add(const Total&, double factor);
//       Constants constants(size_t index) const;
//       void index_set(Constants&, int effort, std::vector<Stratum>&) const;    // I(c) in strata, with draws for each
//       void add_term(const Constants&, size_t index, double factor, Total&) const;   // g
//       double term(const Constants&, const Total&) const;                      // f
//       bool defined(const Total&) const;  void widen(Constants&) const;        // optional: where no term of a sample
//            counts, f has no value; widen() changes c so that some terms are certain to be in every sample
//       bool settled(const Replicates<Total>&) const;                           // optional: false asks for more inner
//            samples, where f is too far from linear within their error
//       bool remarkable(const Constants&, const Total&) const;                  // optional: to be counted
//   };
//
// One flat stratum makes it Algorithm 1 or 2, several Algorithm 3. A base sum takes two halves of its samples that are
// independent given what is exact; f of an estimated total is biased, and 2·f(both) − (f(first) + f(second))/2 takes
// the bias of second order away for any f (Quenouille's half-sample jackknife) and tells the variance as well.
#pragma once

#include "core/base/threads.hpp"
#include "core/monte_carlo/stratified_mean.hpp"
#include "core/numbers/rng.hpp"

namespace btml::monte_carlo {

// Indices begin … end − 1, of which 2 · half_draws are drawn; all are taken once where that would be as many.
struct Stratum {
    size_t begin, end;
    size_t half_draws;

    size_t size() const { return end - begin; }
    bool exact() const { return 2 * half_draws >= size(); }
};

// Holds the totals of the two halves of a sample and of both.
template <class Total>
struct Replicates {
    Total first, second, both;
};

template <class Score>
struct Workspace {
    std::vector<Stratum> strata;
    typename Score::Total exact;
    Replicates<typename Score::Total> totals;
    typename Score::Constants constants{}; // with which it was sampled
    uint64_t terms = 0, remarkable = 0;    // of the last row: those that were visited, and whether it is remarkable
};

// Puts estimates of B(c) into work.totals. Draws of a half are spread over the stratum, one to each part of equal size:
// where neighbours are alike, the variance is that of a finer stratification.
template <class Score>
void sample(const Score& score, typename Score::Constants& constants, int effort, RandomStream& random,
            Workspace<Score>& work) {
    work.strata.clear();
    score.index_set(constants, effort, work.strata);
    auto& [first, second, both] = work.totals;
    for (auto* total : {&work.exact, &first, &second, &both}) total->clear();
    const auto add_term = [&](size_t index, double factor, auto& total) {
        work.terms++;
        score.add_term(constants, index, factor, total);
    };
    for (const Stratum& stratum : work.strata) {
        if (stratum.exact()) {
            for (size_t i = stratum.begin; i < stratum.end; i++) add_term(i, 1, work.exact);
            continue;
        }
        const double share = stratum.size() / static_cast<double>(stratum.half_draws);
        for (auto* half : {&first, &second})
            for (size_t draw = 0; draw < stratum.half_draws; draw++) {
                const auto place = static_cast<size_t>((draw + random.unit()) * share);
                add_term(stratum.begin + std::min(place, stratum.size() - 1), share, *half);
            }
    }
    both.add(first, 0.5);
    both.add(second, 0.5);
    for (auto* total : {&first, &second, &both}) total->add(work.exact, 1);
}

inline constexpr int max_more_effort = 8; // at most so much more is made for one row

// Samples the sum of one row so that each half of the samples has a value.
template <class Score>
void sample_defined(const Score& score, int effort, RandomStream& random, Workspace<Score>& work) {
    sample(score, work.constants, effort, random, work);
    if constexpr (requires { score.defined(work.totals.first); })
        if (!score.defined(work.totals.first) || !score.defined(work.totals.second)) {
            score.widen(work.constants);
            sample(score, work.constants, effort, random, work);
        }
}

template <class Score>
bool is_settled(const Score& score, const Workspace<Score>& work) {
    if constexpr (requires { score.settled(work.totals); })
        return score.settled(work.totals);
    else
        return true;
}

// Samples the sum of one row. The same (seed, index, effort) takes the same random numbers.
template <class Score>
void sample_term(const Score& score, size_t index, int effort, uint64_t seed, Workspace<Score>& work) {
    RandomStream random(seed, index);
    work.constants = score.constants(index);
    work.terms = 0;
    for (int more = 0; more <= max_more_effort; more += 2) {
        sample_defined(score, effort + more, random, work);
        if (is_settled(score, work)) break;
    }
    if constexpr (requires { score.remarkable(work.constants, work.totals.both); })
        work.remarkable = score.remarkable(work.constants, work.totals.both);
}

// Returns f of the row that was sampled, without bias of second order, and its variance.
template <class Score>
Draw term_of(const Score& score, const Workspace<Score>& work) {
    const auto& totals = work.totals;
    const auto term = [&](const auto& total) { return score.term(work.constants, total); };
    const double first = term(totals.first), second = term(totals.second), half = (first - second) / 2;
    return {2 * term(totals.both) - (first + second) / 2, half * half};
}

// Holds row numbers in strata; those of a stratum are in random order, so that its first are a sample without
// replacement.
struct OuterStrata {
    explicit OuterStrata(MemoryBudget& budget) : rows(budget, "strata") {}

    size_t count() const { return borders.size() - 1; }
    std::vector<uint64_t> sizes() const {
        std::vector<uint64_t> sizes;
        for (size_t s = 0; s < count(); s++) sizes.push_back(borders[s + 1] - borders[s]);
        return sizes;
    }

    Buffer<uint32_t> rows;
    std::vector<uint64_t> borders{0}; // say that stratum s has rows[borders[s]] … rows[borders[s + 1] − 1]
};

struct MeanEstimate {
    double mean = 0, standard_error = 0;
    uint64_t draws = 0, terms = 0; // count rows of the outermost sum, and terms of all sums
    uint64_t remarkable = 0;       // counts the rows drawn that are remarkable
    int effort = 0;
};

inline constexpr int max_effort = 24;

// Samples the mean over the rows of a score's terms until the stopping rule holds. Where noise of the inner sums is
// most of the variance, these are sampled with more effort.
template <class Score>
class MeanSampler {
  public:
    MeanSampler(const Score& score, const OuterStrata& strata, const SamplingOptions& options, ThreadTeam& team)
        : score_(score),
          strata_(strata),
          options_(options),
          team_(team),
          mean_(strata.sizes(), options),
          work_(team.size()) {}

    // Gives up, with false, once max_terms were visited, or as soon as the draws so far say that more will be: the
    // first of them are the pilot.
    bool run(uint64_t max_terms = UINT64_MAX) {
        for (;;) {
            draw(mean_.plan());
            if (result_.terms > max_terms) return false;
            if (mean_.precise_enough()) return true;
            const double noise = mean_.noise_variance(), error = mean_.standard_error();
            const bool noisy = noise > error * error / 2;
            if ((noisy || mean_.exhausted()) && result_.effort < max_effort && noise > 0)
                restart();
            else if (mean_.exhausted())
                return true;
            else if (expected_terms() > max_terms)
                return false;
        }
    }
    MeanEstimate result() const {
        MeanEstimate result = result_;
        result.mean = mean_.mean();
        result.standard_error = mean_.standard_error();
        result.draws = mean_.draws();
        return result;
    }
    const StratifiedMean& mean() const { return mean_; }

  private:
    struct Evaluation {
        size_t stratum;
        uint32_t row;
        Draw draw;
        uint64_t terms, remarkable;
    };
    static constexpr size_t rows_per_item = 8;

    double expected_terms() const {
        const double each = result_.terms / static_cast<double>(evaluated_);
        return mean_.needed() * each;
    }

    void restart() {
        mean_ = StratifiedMean(strata_.sizes(), options_);
        drawn_.clear();
        result_.effort += 2;
        result_.remarkable = 0;
    }

    // Draws until each stratum has as many as `wanted`.
    void draw(const std::vector<uint64_t>& wanted) {
        std::vector<Evaluation> evaluations;
        drawn_.resize(wanted.size());
        for (size_t s = 0; s < wanted.size(); s++)
            for (; drawn_[s] < wanted[s]; drawn_[s]++)
                evaluations.push_back({s, strata_.rows[strata_.borders[s] + drawn_[s]], {}, 0, 0});
        evaluated_ += evaluations.size();
        const size_t items = (evaluations.size() + rows_per_item - 1) / rows_per_item;
        team_.for_each(items, [&](size_t item, int worker) {
            Workspace<Score>& work = work_[worker];
            const size_t end = std::min(evaluations.size(), (item + 1) * rows_per_item);
            for (size_t i = item * rows_per_item; i < end; i++) {
                Evaluation& evaluation = evaluations[i];
                sample_term(score_, evaluation.row, result_.effort, options_.seed, work);
                evaluation.draw = term_of(score_, work);
                evaluation.terms = work.terms;
                evaluation.remarkable = work.remarkable;
            }
        });
        for (const Evaluation& evaluation : evaluations) {
            mean_.add(evaluation.stratum, evaluation.draw);
            result_.terms += evaluation.terms;
            result_.remarkable += evaluation.remarkable;
        }
    }

    const Score& score_;
    const OuterStrata& strata_;
    const SamplingOptions options_;
    ThreadTeam& team_;
    StratifiedMean mean_;
    std::vector<Workspace<Score>> work_;
    std::vector<uint64_t> drawn_;
    uint64_t evaluated_ = 0; // counts draws, those before a restart too
    MeanEstimate result_;
};

} // namespace btml::monte_carlo
