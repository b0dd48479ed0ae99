#include "boosting_reference.hpp"
#include "caught.hpp"
#include "random_fit.hpp"

#include "core/base/resident_holder.hpp"
#include "core/boosting/binning/quantile_cuts.hpp"

#include <map>

namespace btml::boosting::test {
namespace {

using btml::test::caught;

// Leads processes that are threads of this one, one after the other.
class TestCoordinator : public Coordinator {
  public:
    using Follow = std::function<void(Holder& peers, size_t number, RunContext& context)>;

    TestCoordinator(size_t others, const Follow& follow) : Coordinator(others) {
        for (size_t number = 0; number < others; number++)
            residents_.push_back(std::make_unique<ResidentHolder>(
                [=](Holder& peers, RunContext& context) { follow(peers, number, context); }, memory_,
                1 + static_cast<int>(number % 2)));
    }
    size_t rounds() const { return rounds_; }
    // Changes messages, and answers, on their way.
    std::function<void(size_t round, Bytes& message)> disturb = [](size_t, Bytes&) {};

  private:
    std::vector<Bytes> exchange(const Bytes& message) override {
        rounds_++;
        Bytes sent = message;
        disturb(rounds_, sent);
        std::vector<Bytes> answers;
        for (auto& resident : residents_) {
            resident->post(sent);
            answers.push_back(resident->collect(context_));
            disturb(rounds_, answers.back());
        }
        return answers;
    }

    QuietContext context_;
    MemoryBudget memory_{uint64_t{1} << 40}; // of all of them
    std::vector<std::unique_ptr<ResidentHolder>> residents_;
    size_t rounds_ = 0;
};

// Rows in no order, each on one of some processes; some may have none.
std::vector<PlainData> scatter(const PlainData& data, size_t others, uint64_t seed) {
    Random random(seed + 5000);
    std::vector<std::vector<size_t>> rows(others);
    for (const size_t row : random_order(data.rows, seed)) rows[random.below(others)].push_back(row);
    std::vector<PlainData> parts;
    for (const auto& part : rows) parts.push_back(reorder(data, part));
    return parts;
}

struct Distributed {
    Model model;
    size_t rounds;
};

Distributed fit_scattered(const PlainData& data, const Options& options, size_t others, uint64_t seed,
                          const std::optional<Model>& start = {}) {
    const std::vector<PlainData> parts = scatter(data, others, seed);
    const PlainData none = reorder(data, {});
    TestCoordinator peers(others, [&](Holder& holder, size_t number, RunContext& context) {
        serve_fit(to_dataset(parts[number], context), options, holder, context, start);
    });
    QuietContext context;
    Model model = fit_distributed(to_dataset(none, context), options, peers, context, start).model;
    return {std::move(model), peers.rounds()};
}

class DistributedFitOfEveryObjective : public testing::TestWithParam<ObjectiveNumber> {};

TEST_P(DistributedFitOfEveryObjective, IsTheModelOfOneProcess) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Fit fit(seed, GetParam());
        if (seed % 3 == 2) fit.options.feature_fraction = 0.5;
        if (seed % 4 == 1 && objective_of(GetParam()).link == Link::exponential) fit.data.target[0] = 1e20;
        fit.options.early_stopping = 0; // it goes by all rows held out, not by half of them
        const std::string bytes = bytes_of(uncalibrated(fit_plain(fit.data, fit.options)));
        EXPECT_TRUE(bytes == bytes_of(fit_scattered(fit.data, fit.options, 1 + seed % 5, seed).model));
    }
}

INSTANTIATE_TEST_SUITE_P(Boosting, DistributedFitOfEveryObjective, testing::ValuesIn(newton_or_renewed),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Distributed, IsTheModelOfOneProcessUnderEveryOption) {
    for (uint64_t seed = 0; seed < 120; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        const Fit fit(seed, ObjectiveNumber::squared);
        Options options = fit.options;
        if (seed % 3 == 2) options.feature_fraction = 0.5;
        if (seed % 5 == 1) options.criterion = Criterion::mse_sum;
        if (seed % 2 == 1) options.max_bins = 2 + static_cast<int>(seed % 9);
        options.early_stopping = 0; // it goes by all rows held out, not by half of them
        const Model model = fit_plain(fit.data, options);
        EXPECT_TRUE(bytes_of(uncalibrated(model)) ==
                    bytes_of(fit_scattered(fit.data, options, 1 + seed % 4, seed).model));
        options.trees += 2;
        EXPECT_TRUE(bytes_of(uncalibrated(fit_plain(fit.data, options))) ==
                    bytes_of(fit_scattered(fit.data, options, 1 + seed % 3, seed, model).model));
    }
}

// Open leaves are split ahead: a tree of 31 leaves takes far fewer rounds than splits.
TEST(Distributed, TreesTakeFewRounds) {
    DataShape shape;
    shape.rows = 4000;
    shape.features = 10;
    shape.distinct = 0;
    const PlainData data = random_data(shape, 5);
    Options options;
    const auto rounds = [&](int trees) {
        options.trees = trees;
        return fit_scattered(data, options, 3, 1).rounds;
    };
    EXPECT_LE(rounds(30) - rounds(10), 20u * 25);
    EXPECT_TRUE(bytes_of(fit_plain(data, options)) == bytes_of(fit_scattered(data, options, 3, 1).model));
}

// Cuts of values that one process has, by filling bins one value after the other.
std::vector<std::pair<uint64_t, uint64_t>> plain_cuts(const std::map<uint64_t, uint64_t>& values, size_t max_bins) {
    uint128 all = 0, shared = 0;
    for (const auto& [key, weight] : values) all += weight;
    size_t frequent = 0;
    for (const auto& [key, weight] : values) {
        frequent += is_frequent(weight, all, max_bins);
        if (!is_frequent(weight, all, max_bins)) shared += weight;
    }
    BinFiller bins(max_bins, frequent, shared);
    std::vector<std::pair<uint64_t, uint64_t>> cuts;
    uint64_t last = 0;
    for (const auto& [key, weight] : values) {
        const bool cuts_here = bins.add(weight, is_frequent(weight, all, max_bins));
        if (cuts_here || (values.size() <= max_bins && key != values.begin()->first)) cuts.emplace_back(last, key);
        last = key;
    }
    return cuts;
}

TEST(Distributed, CutsAreThoseOfOneProcess) {
    size_t max_rounds = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(format("seed %d", static_cast<int>(seed)));
        Random random(seed);
        const size_t others = 1 + random.below(4), rows = random.below(seed % 10 == 0 ? 20'000 : 800);
        const size_t max_bins = 2 + random.below(seed % 3 == 0 ? 6 : 200), distinct = 1 + random.below(2 * rows + 1);
        const double skew = 1 + static_cast<double>(random.below(6)), apart = random.unit();
        std::vector<std::map<uint64_t, uint64_t>> parts(others);
        std::map<uint64_t, uint64_t> all;
        for (size_t i = 0; i < rows; i++) {
            const auto key = static_cast<uint64_t>(std::pow(random.unit(), skew) * static_cast<double>(distinct));
            const uint64_t weight = 1 + random.below(seed % 4 == 1 ? 1000 : 1);
            // Processes may have values of their own, or mostly so.
            const size_t part = random.chance(apart) ? key * others / distinct % others : random.below(others);
            parts[part][key] += weight;
            all[key] += weight;
        }
        std::vector<std::pair<uint64_t, uint64_t>> found;
        uint64_t counted = 0;
        const auto cut = [&](Peers& peers, const std::map<uint64_t, uint64_t>& values, bool keep) {
            QuietContext context;
            WeightedValues own{Buffer<uint64_t>(context.memory(), "keys"), Buffer<uint64_t>(context.memory(), "sums")};
            uint64_t up_to = 0;
            for (const auto& [key, weight] : values) {
                own.keys.push_back(key);
                own.up_to.push_back(up_to += weight);
            }
            uint64_t count;
            const std::vector<Cut> cuts = cuts_among(peers, own, max_bins, 1023, count);
            if (!keep) return;
            counted = count;
            for (const Cut& at : cuts) found.emplace_back(at.last, at.next);
        };
        TestCoordinator peers(others,
                              [&](Holder& holder, size_t number, RunContext&) { cut(holder, parts[number], false); });
        cut(peers, {}, true);
        peers.flush();
        max_rounds = std::max(max_rounds, peers.rounds());
        EXPECT_EQ(found, plain_cuts(all, max_bins));
        EXPECT_EQ(counted, std::min(all.size(), max_bins + 1));
    }
    EXPECT_LE(max_rounds, 18u);
}

TEST(Distributed, ErrorsOfRowsAreThoseOfTheFit) {
    Fit fit(0, ObjectiveNumber::poisson);
    fit.data.target[7] = -1;
    const auto alone = caught([&] { fit_plain(fit.data, fit.options); });
    const auto together = caught([&] { fit_scattered(fit.data, fit.options, 3, 1); });
    EXPECT_EQ(alone.message, together.message);
    EXPECT_NE(alone.message.find("-1"), std::string::npos);
    for (double& y : fit.data.target) y = 0;
    EXPECT_EQ(caught([&] { fit_plain(fit.data, fit.options); }).message,
              caught([&] { fit_scattered(fit.data, fit.options, 2, 1); }).message);
    Fit wide(0, ObjectiveNumber::squared);
    for (const uint32_t categories : {1024u, 1100u}) { // and a bin for NULL
        wide.data.columns[0] = {"many", true, 0, {}, {}, categories, 0};
        for (size_t row = 0; row < wide.data.tables[0].rows; row++)
            wide.data.columns[0].codes.push_back(static_cast<uint32_t>(row % categories));
        const auto many = caught([&] { fit_scattered(materialise(wide.data), wide.options, 2, 1); });
        EXPECT_EQ(many.code, ErrorCode::not_supported);
        EXPECT_EQ(many.message,
                  "feature \"many\" has more than 1023 categories, too many for rows on several machines");
    }
    fit.options.row_fraction = 0.5;
    EXPECT_EQ(caught([&] { fit_scattered(fit.data, fit.options, 2, 1); }).code, ErrorCode::not_supported);
}

// Whatever a peer sends, a fit ends, with a model or an error.
TEST(Distributed, WrongMessagesAreRefused) {
    size_t refused = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const Fit fit(seed, newton_or_renewed[seed % std::size(newton_or_renewed)]);
        const std::vector<PlainData> parts = scatter(fit.data, 2, seed);
        const PlainData none = reorder(fit.data, {});
        TestCoordinator peers(2, [&](Holder& holder, size_t number, RunContext& context) {
            serve_fit(to_dataset(parts[number], context), fit.options, holder, context, {});
        });
        Random random(seed);
        const size_t disturbed = 1 + random.below(12);
        peers.disturb = [&](size_t round, Bytes& message) {
            if (round != disturbed || message.empty() || random.chance(0.3)) return;
            const size_t at = random.below(message.size());
            static constexpr int64_t words[] = {0, -1, INT64_MAX, INT64_MIN, 1 << 20, int64_t{1} << 32};
            if (random.chance(0.2))
                message.resize(at);
            else if (random.chance(0.5))
                message[at] = static_cast<std::byte>(random.below(256));
            else if (at / 8 * 8 + 8 <= message.size())
                memcpy(&message[at / 8 * 8], &words[random.below(std::size(words))], 8);
        };
        QuietContext context;
        refused += caught([&] { fit_distributed(to_dataset(none, context), fit.options, peers, context); }).thrown;
    }
    EXPECT_GT(refused, 100u);
}

// What the coordinator refuses, holders do not take from another one.
TEST(Distributed, HoldersCheckOptionsToo) {
    Fit fit(0, ObjectiveNumber::squared);
    MemoryBudget memory(uint64_t{1} << 30);
    const auto serve = [&](const Options& options) {
        ResidentHolder resident(
            [&](Holder& holder, RunContext& context) {
                serve_fit(to_dataset(fit.data, context), options, holder, context, {});
            },
            memory, 1);
        QuietContext context;
        return caught([&] {
            resident.post({});
            resident.collect(context);
        });
    };
    for (const auto change : {+[](Options& options) { options.objective = ObjectiveNumber::rank; },
                              +[](Options& options) { options.row_fraction = 0.5; },
                              +[](Options& options) { options.learn_deviation = true; }}) {
        Options options = fit.options;
        change(options);
        EXPECT_TRUE(serve(options).thrown);
    }
}

} // namespace
} // namespace btml::boosting::test
