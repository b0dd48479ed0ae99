#include "caught.hpp"
#include "core/base/options_table.hpp"

#include <gtest/gtest.h>

namespace btml {
namespace {

using test::Caught;
using test::caught;

enum class Colour { red, green };
constexpr const char* colours[] = {"red", "green"};
constexpr OtherNames colour_synonyms[] = {{"red", {"scarlet"}}};
constexpr OtherNames foreign_colours[] = {
    {"red", {"rouge"}},
    {"green", {"verdant"}},
};

struct Inner {
    double depth = 0.5;
};

struct Paint {
    int layers = 2;
    uint64_t seed = 0;
    int brushes = 0;
    std::optional<double> gloss;
    std::optional<int64_t> drops;
    Colour colour = Colour::red;
    bool thinned = false, sprayed = false;
    Inner inner;
};

constexpr Option<Paint> rows[] = {
    option<&Paint::layers>("layers", zero_or("none", between(2, 10)), ""),
    option<&Paint::seed>("seed", any_number(), ""),
    option<&Paint::brushes>("brushes", from(1), "").null_is(0, "as many as there are"),
    option<&Paint::gloss>("gloss", above(0), "").null_means("measured"),
    option<&Paint::drops>("drops", from(0), "").null_means("all"),
    option<&Paint::colour>("colour", colours, "").also_called(colour_synonyms).elsewhere_called(foreign_colours),
    option<&Paint::thinned>("thinner", colours, ""),
    option<&Paint::sprayed>("sprayed", "").not_stored(),
    option<&Paint::inner, &Inner::depth>("depth", inside(0, 1), ""),
    argument<Paint>("wall", "a column", ""),
};
constexpr OptionsTable<Paint> table{rows};

std::string stored(const Paint& paint, const OptionsTable<Paint>& by = table) {
    QuietContext context;
    Writer writer(context);
    by.write(paint, writer);
    const auto bytes = writer.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Paint read(const std::string& bytes) {
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
    const Paint paint = table.read(reader);
    reader.finish();
    return paint;
}

Caught assigned(const char* name, const OptionValue& value) {
    Paint paint;
    return caught([&] { table.assign(paint, *table.find(name), value); });
}

TEST(OptionsTable, RefusesWhatIsOutOfRangeOrOfAnotherType) {
    EXPECT_NO_THROW(table.check(Paint()));
    Caught error = assigned("layers", int64_t{1});
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.message, "invalid value for option \"layers\": 1");
    EXPECT_EQ(error.hint, "Valid values are 0 (none), and 2 to 10.");
    EXPECT_FALSE(assigned("layers", int64_t{0}).thrown);
    EXPECT_FALSE(assigned("layers", int64_t{10}).thrown);
    EXPECT_EQ(assigned("layers", OptionValue()).message, "invalid value for option \"layers\": NULL");
    EXPECT_EQ(assigned("layers", true).message, "invalid value for option \"layers\": true");
    EXPECT_EQ(assigned("brushes", int64_t{1} << 40).hint, "Valid values are NULL, and 1 and more.");
    EXPECT_EQ(assigned("gloss", -0.5).hint, "Valid values are NULL, and finite numbers greater than 0.");
    EXPECT_TRUE(assigned("gloss", std::numeric_limits<double>::infinity()).thrown);
    EXPECT_TRUE(assigned("gloss", std::numeric_limits<double>::quiet_NaN()).thrown);
    EXPECT_EQ(assigned("depth", 1.0).hint, "Valid values are greater than 0 and less than 1.");
    error = assigned("colour", std::string("blue"));
    EXPECT_EQ(error.message, "invalid value for option \"colour\": \"blue\"");
    EXPECT_EQ(error.hint, "Valid values are \"red\", \"green\".");
    EXPECT_EQ(assigned("colour", std::string("Green")).hint,
              "Perhaps you meant \"green\". Valid values are \"red\", \"green\".");
    EXPECT_EQ(assigned("colour", std::string("VERDENT")).hint,
              "Perhaps you meant \"green\". Valid values are \"red\", \"green\".");
    EXPECT_EQ(assigned("colour", std::string(1000, 'g')).hint, "Valid values are \"red\", \"green\".");
    EXPECT_FALSE(assigned("colour", std::string("scarlet")).thrown);
    EXPECT_EQ(assigned("seed", 0.5).hint, "");
    EXPECT_EQ(table.find("wall"), nullptr);
}

TEST(OptionsTable, RefusesWhatDoesNotGoTogether) {
    static constexpr Need<Paint> undiluted[] = {{"sprayed", [](const Paint&p) { return !p.sprayed; },
                                                 "sprayed => false"}},
                                 green[] = {{"colour", [](const Paint&p) { return p.colour == Colour::green; },
                                             "colour => 'green'"},
                                            {"wall", [](const Paint&p) { return p.seed == 0; }, "no wall"}};
    static constexpr Option<Paint> needy[] = {
        option<&Paint::gloss>("gloss", above(0), "").null_means("measured").only_with(undiluted),
        option<&Paint::colour>("colour", colours, ""), option<&Paint::sprayed>("sprayed", ""),
        argument<Paint>("wall", "a column", "")
            .given_if([](const Paint& p) { return p.layers != 2; })
            .only_with(green)};
    static constexpr OptionsTable<Paint> of_needy{needy};
    const auto refusal = [&](const auto& change) {
        Paint paint;
        change(paint);
        const Caught error = caught([&] { of_needy.check(paint); });
        return error.thrown ? error.message + " | " + error.hint : "";
    };
    EXPECT_EQ(refusal([](Paint&) {}), "");
    EXPECT_EQ(refusal([](Paint& p) { p.sprayed = true; }), "");
    EXPECT_EQ(refusal([](Paint& p) { p.gloss = 1, p.sprayed = true; }),
              "sprayed => true takes no gloss | Use sprayed => false, or leave out gloss.");
    EXPECT_EQ(refusal([](Paint& p) { p.layers = 3; }),
              "colour => 'red' takes no wall | Use colour => 'green', or leave out wall.");
    EXPECT_EQ(refusal([](Paint& p) { p.layers = 3, p.colour = Colour::green; }), "");
    EXPECT_EQ(refusal([](Paint& p) { p.layers = 3, p.colour = Colour::green, p.seed = 1; }),
              "wall takes no wall | Use no wall, or leave out wall.");
}

TEST(OptionsTable, WhatIsStoredIsReadBack) {
    Paint paint;
    paint.layers = 7;
    paint.seed = ~uint64_t{0};
    paint.drops = 1ll << 40;
    paint.colour = Colour::green;
    paint.thinned = paint.sprayed = true;
    paint.inner.depth = 0.25;
    const Paint copy = read(stored(paint));
    EXPECT_EQ(copy.layers, 7);
    EXPECT_EQ(copy.seed, paint.seed);
    EXPECT_EQ(copy.brushes, 0);
    EXPECT_EQ(copy.gloss, std::nullopt);
    EXPECT_EQ(copy.drops, paint.drops);
    EXPECT_EQ(copy.colour, Colour::green);
    EXPECT_TRUE(copy.thinned);
    EXPECT_FALSE(copy.sprayed);
    EXPECT_EQ(copy.inner.depth, 0.25);
}

TEST(OptionsTable, SynonymsAreStoredByTheirChoice) {
    Paint paint, red;
    paint.colour = Colour::green;
    table.assign(paint, *table.find("colour"), std::string("scarlet"));
    EXPECT_EQ(stored(paint), stored(red));
}

TEST(OptionsTable, ReadsModelsOfOtherVersions) {
    Paint paint;
    paint.layers = 7;
    static constexpr Option<Paint> older[] = {rows[0]};
    EXPECT_EQ(read(stored(paint, {older})).layers, 7);
    EXPECT_EQ(read(stored(paint, {older})).inner.depth, 0.5);
    static constexpr Option<Paint> newer[] = {rows[0], option<&Paint::brushes>("rollers", any_number(), "")};
    EXPECT_EQ(caught([&] { read(stored(paint, {newer})); }).detail,
              "It has the option \"rollers\", which this version of btml does not know.");
    static constexpr Option<Paint> twice[] = {rows[0], rows[0]};
    EXPECT_EQ(caught([&] { read(stored(paint, {twice})); }).detail, "It has the option \"layers\" twice.");
    static constexpr Option<Paint> other[] = {option<&Paint::inner, &Inner::depth>("layers", any_number(), "")};
    const Caught error = caught([&] { read(stored(paint, {other})); });
    EXPECT_EQ(error.code, ErrorCode::corrupt_model);
    EXPECT_EQ(error.detail, "It has an invalid value for option \"layers\": 0.5.");
    static constexpr Option<Paint> unnamed[] = {option<&Paint::brushes>("rol\xff", any_number(), "")};
    EXPECT_EQ(caught([&] { read(stored(paint, {unnamed})); }).detail,
              "The name of an option, or of its choice, is none.");
}

} // namespace
} // namespace btml
