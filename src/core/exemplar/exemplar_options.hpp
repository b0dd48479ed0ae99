// Says what is asked of a selection of exemplars.
#pragma once

#include "core/base/options_table.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace btml::exemplar {

// Says what a set of exemplars is worth (Gomes, Krause: Budgeted Nonparametric Learning from Data Streams, section 3).
enum class ObjectiveKind { clustering, information, variance, prediction };

// Says how unlike an exemplar a row is; `function` stands for whatever a caller's function says.
enum class Metric { squared_euclidean, euclidean, cosine, manhattan, function };
inline constexpr std::array metric_names = {"squared_euclidean", "euclidean", "cosine", "manhattan"};
// Returns the metric of this name; nothing for any other text, which may be the signature of a function.
std::optional<Metric> metric_named(std::string_view name);

// A phantom is an exemplar that is always there and never chosen; its dissimilarity to a row bounds the row's loss.
enum class PhantomKind { none, origin, mean, random, point };

enum class ScanOrder { physical, random_blocks };

struct Options {
    static constexpr int max_exemplars = 100000;

    int exemplars = 0; // at most so many are chosen
    ObjectiveKind objective = ObjectiveKind::clustering;
    Metric metric = Metric::squared_euclidean;
    std::optional<int> validation;         // at most so many rows are kept to score candidates on
    int passes = 1;                        // so many passes are made over the rows, for candidates
    std::optional<int64_t> max_candidates; // at most so many rows are tried in all passes
    double eta = 0;                        // a swap gains more than this
    PhantomKind phantom = PhantomKind::none;
    std::vector<double> phantom_point;
    // So many rows are looked at together; the first exemplars are those of the first batches that gain most.
    int batch = 100;
    bool racing = false;      // lets a part of the validation rows decide where that is enough
    double confidence = 0.95; // says how likely all decisions of races are those of all validation rows
    ScanOrder scan_order = ScanOrder::physical;
    std::optional<std::vector<double>> length_scales;
    std::optional<double> signal, noise; // are variances
    uint64_t seed = 0;

    bool is_gp() const { return objective != ObjectiveKind::clustering; }
    bool learns_kernel() const { return is_gp() && !(length_scales && signal && noise); }
    // Says whether each row needs the number to be predicted.
    bool needs_target() const { return objective == ObjectiveKind::prediction || learns_kernel(); }
    // Returns the capacity of each of the two samples of rows.
    size_t sample_size() const;
    // Returns how many rows are tried in all passes over a source of so many rows, at most.
    uint64_t candidates(uint64_t rows) const;

    // Throws invalid_argument, naming the option and the valid values.
    void validate() const;
};

extern const OptionsTable<Options> options_table;

} // namespace btml::exemplar
