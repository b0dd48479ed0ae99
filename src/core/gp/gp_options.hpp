// Says how a Gaussian process is trained.
#pragma once

#include "core/base/options_table.hpp"
#include "core/gp/search/order_search.hpp"
#include "core/gp/sparse/smooth_kernel.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace btml::gp {

// Says how members make one model; automatic: the one that scores better, on held-out rows or leaving rows out.
enum class Combine { automatic, mixture, kernel_sum };

// Says what a point is to the model whose number lies outside of the training rows' range: one at the end of the range,
// or one that has the less to do with it the farther it is, and nothing at last (OutsideScale).
enum class Outside { clamp, prior };

// Says what the bits of a number are those of: its value, or its rank among the training values; automatic: what scores
// better leaving rows out.
enum class NumberEncoding { automatic, linear, rank };

// Says what the gp's observations are: targets; or what boosted trees leave of them; automatic: what scores better,
// on held-out rows or leaving rows out.
enum class Mean { automatic, zero, boosted };
// Says where the exemplars of a smooth kernel are: where the likelihood is greatest, or at rows each of which varies
// most given those before.
enum class ExemplarObjective { likelihood, variance };

struct Options {
    int bits = 0;    // of a feature's value; 0: by the number of features (Encoding::default_value_bits)
    int members = 0; // 0: chosen within the evaluations
    Combine combine = Combine::automatic;
    Search search = Search::local;
    int evaluations = 0;          // of the likelihood of all rows, by all members together; 0: by the number of rows
    std::optional<double> noise;  // variance of an observation, in units of the target's variance; learned if not given
    std::optional<double> signal; // variance of the latent function, in the same units; learned if not given
    Outside outside = Outside::prior;
    int64_t seed = 0;
    KernelChoice kernel = KernelChoice::tree;
    int exemplars = 512; // inducing points of a smooth kernel, at most
    NumberEncoding encoding = NumberEncoding::automatic;
    Mean mean = Mean::automatic;
    ExemplarObjective exemplar_objective = ExemplarObjective::likelihood;
    std::optional<bool> varying_noise;      // no, if not given
    std::optional<double> holdout_fraction; // of a source's rows, where no column says which are held out
    // Holds exemplars that stay where they are, row by row, with features as Predictor takes them. Null: they are
    // chosen of rows.
    std::shared_ptr<const std::vector<double>> given_exemplars;

    // Returns how many exemplars of so many rows there may be.
    size_t max_exemplars(size_t rows, size_t features) const {
        return given_exemplars ? given_exemplars->size() / features : std::min(rows, static_cast<size_t>(exemplars));
    }
    // Returns what a model keeps of them: of exemplars that were given their number.
    Options kept(size_t features) const {
        Options options = *this;
        options.exemplars = static_cast<int>(given_exemplars ? max_exemplars(0, features) : exemplars);
        options.given_exemplars.reset();
        return options;
    }
    // Throws invalid_argument naming the option, its value and the valid ones.
    void validate() const;
};

extern const OptionsTable<Options> options_table;

Options gp_fit_members_defaults(); // each member is a model

// Says how draws are made of a trained one.
struct SampleOptions {
    int draws = 1;
    uint64_t seed = 0;
};

extern const OptionsTable<SampleOptions> sample_options_table;

// Writes whether there is a number, then the number.
void put(const std::optional<double>& value, Writer& writer);
std::optional<double> get_optional(Reader& reader);

const char* name_of(Combine combine);
const char* name_of(Search search);
const char* name_of(NumberEncoding encoding);
const char* name_of(Mean mean);
const char* name_of(ExemplarObjective objective);

} // namespace btml::gp
