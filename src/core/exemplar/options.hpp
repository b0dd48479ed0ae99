// What is asked of a selection of exemplars.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace btml::exemplar {

// What a set of exemplars is worth (Gomes, Krause: Budgeted Nonparametric Learning from Data Streams, section 3).
enum class ObjectiveKind { clustering, information, variance, prediction };

// How unlike an exemplar a row is; function: whatever a caller's function says.
enum class Metric { squared_euclidean, euclidean, cosine, manhattan, function };

// An exemplar that is always there and never chosen; its dissimilarity to a row bounds the row's loss.
enum class PhantomKind { none, origin, mean, random, point };

struct Options {
    static constexpr int max_exemplars = 100000;

    int exemplars = 0; // at most so many are chosen
    ObjectiveKind objective = ObjectiveKind::clustering;
    Metric metric = Metric::squared_euclidean;
    std::optional<int> validation;         // rows kept to score candidates on, at most
    int passes = 1;                        // over the rows, for candidates
    std::optional<int64_t> max_candidates; // rows tried in all passes, at most
    double eta = 0;                        // a swap gains more than this
    PhantomKind phantom = PhantomKind::none;
    std::vector<double> phantom_point;
    int batch = 100;     // rows looked at together; the first exemplars are those of the first batches that gain most
    bool racing = false; // decide by a part of the validation rows where that is enough
    double confidence = 0.95; // that all decisions of races are those of all validation rows
    std::optional<std::vector<double>> length_scales;
    std::optional<double> signal, noise; // variances
    uint64_t seed = 0;

    bool is_process() const { return objective != ObjectiveKind::clustering; }
    bool learns_kernel() const { return is_process() && !(length_scales && signal && noise); }
    // Whether each row needs the number to be predicted.
    bool needs_target() const { return objective == ObjectiveKind::prediction || learns_kernel(); }
    // Whether a row's loss depends on its cell's mean: see CellMeans.
    bool has_means() const { return !is_process() && metric == Metric::squared_euclidean; }
    // Of CellMeans: one for each exemplar, unless they would cost more than the candidates do.
    size_t cells() const;
    // Capacity of each of the two samples of rows.
    size_t sample_size() const;
    // Rows tried in all passes over a source of so many rows, at most.
    uint64_t candidates(uint64_t rows) const;

    // Error invalid_argument, naming the option and the valid values.
    void validate() const;
};

} // namespace btml::exemplar
