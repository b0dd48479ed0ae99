#include "linear_data.hpp"

#include "core/linear/coefficients.hpp"

#include <array>

namespace btml::linear::test {
namespace {

using Eight = std::array<double, 8>; // intercept, x1, x2, x2 = NULL, code b, c and d, flag

// What was fitted to formula_rows().
struct Setting {
    Family family;
    bool weighted = false;
    double penalty = 0, l1_ratio = 0;

    Options options() const {
        Options options = options_of(family);
        options.penalty = penalty;
        options.l1_ratio = l1_ratio;
        return options;
    }
    std::string text() const {
        return format("%s%s, penalty %g, l1_ratio %g", name_of(family), weighted ? ", weighted" : "", penalty,
                      l1_ratio);
    }
};

// What statsmodels 0.15 has for formula_rows(): WLS, and GLM with var_weights; robust errors are sandwiches of the
// expected information, HC1 and clustered with its factors. The log likelihood is that of R.
struct Published {
    Setting of;
    Eight estimates, errors, robust, clustered;
    struct {
        double deviance, null_deviance, dispersion, log_likelihood;
    } statistics;
};

const Published published[] = {
    {{Family::gaussian, false},
     {-2.397602341136, 0.07055123016669, 3.521776619633, 0.08203696501274, 1.23374517325, -0.02921823508747,
      -1.090845198915, 0.6497816417873},
     {1.773714426148, 0.01675026871093, 0.1678905401926, 0.1283489873713, 0.1329207928939, 0.1166967171244,
      0.1295871572934, 0.09055484982039},
     {2.200417462694, 0.0207329659577, 0.1325285395208, 0.2306605969599, 0.16033003736, 0.1066570992859,
      0.1093700601813, 0.08809442615162},
     {1.065956965788, 0.0100116079084, 0.1150147918956, 0.01007535644867, 0.09398683979751, 0.09770200118812,
      0.1426023108624, 0.09329096675488},
     {11.11571671571, 128.4157435949, 0.1543849543849, -34.56841835673}},
    {{Family::binomial, false},
     {-4.278647064865, 0.03946623198701, 2.175966900981, 0.2917058010689, -0.6326781018754, 0.0502173927432,
      -1.043572752941, 0.7767065935},
     {9.759747328776, 0.09216829414518, 0.9475110052848, 0.6756732399949, 0.7174340054929, 0.6295171990172,
      0.7252588868464, 0.4988093971089},
     {10.74377100818, 0.1011336252714, 0.9649044001802, 0.6805509034086, 0.756843475861, 0.7155642222741,
      0.7236543144815, 0.5489398640076},
     {5.688959119332, 0.05281691066671, 0.346934581657, 0.2291038882528, 0.5309073142994, 0.8229895170745,
      0.534596964771, 0.4824892043858},
     {100.8027284772, 110.9035488896, 1, -50.40136423858}},
    {{Family::poisson, false},
     {-8.653279533032, 0.09059918558866, 2.063874215827, -0.3870413597577, 0.426984204525, -0.02841706006651,
      -0.68251765015, 0.39457309306},
     {2.527546981085, 0.02379427842539, 0.2556136576235, 0.231217854998, 0.1703365334755, 0.1625319624118,
      0.2183978622884, 0.1278444182149},
     {4.289151613291, 0.04041416901813, 0.3666129545674, 0.486670570845, 0.2805335447709, 0.1945249589645,
      0.3230671800726, 0.2045100158444},
     {3.195602065842, 0.02949712014639, 0.2497460260895, 0.08110850135386, 0.2037319392029, 0.1530340368069,
      0.3133770863376, 0.2147388974091},
     {176.8412518959, 296.7324018114, 1, -181.5492336753}},
    {{Family::gamma, false},
     {-1.157428970154, 0.006540201730575, 0.7332341010188, -0.08279669323166, 0.07485190989509, 0.1225054845582,
      -0.1380962805639, 0.1918098287932},
     {2.021515295319, 0.01909040367528, 0.1913460757467, 0.1462802789924, 0.1514907991611, 0.1330001014271,
      0.1476914303021, 0.1032060241934},
     {1.944372534532, 0.0182119865322, 0.1928955148873, 0.146915229731, 0.1619846011811, 0.1313343240602,
      0.1578821258087, 0.104536746708},
     {1.282583096824, 0.01174994392462, 0.3251657476472, 0.09375597710047, 0.1286199102634, 0.08363898689345,
      0.0948567527126, 0.09646912210738},
     {15.7297312401, 19.64458365675, 0.2005356733389, -13.35181986421}},
    {{Family::gaussian, true},
     {-3.322576387009, 0.07882949047393, 3.500948593891, 0.1650797120427, 1.287683188867, -0.03891687845955,
      -1.058835949882, 0.7085490264898},
     {1.785926023942, 0.01691516826482, 0.1783664648539, 0.1311611765909, 0.1355077913152, 0.1225270846129,
      0.1333099008406, 0.09472746692153},
     {2.55983363211, 0.02419858157879, 0.1508740441469, 0.2628178818253, 0.1855573969074, 0.1147621589032,
      0.1248279099833, 0.0985830878803},
     {1.455907693436, 0.01341942079297, 0.1365804008846, 0.02869308821675, 0.1307085771142, 0.1071227490723,
      0.1547071713758, 0.1164186999329},
     {25.34670005024, 270.3679045232, 0.3520375006978, -40.99434394914}},
    {{Family::binomial, true},
     {-3.886241558643, 0.0358351749829, 2.716176997213, 0.4701919962334, -1.15608051846, -0.04128149776037,
      -1.387751211183, 0.9452801181832},
     {6.65811848562, 0.0630853276586, 0.6985592261042, 0.4697571169143, 0.511681803218, 0.4517786250132,
      0.5156391753879, 0.3603203234432},
     {11.98476158491, 0.1128626185724, 1.078922858468, 0.6939345465197, 0.7926785236521, 0.7760457951802,
      0.7336991212492, 0.5873524065734},
     {7.225684044497, 0.0689609541781, 0.34034508939, 0.2785475967367, 0.7382314732135, 1.028550261078, 0.5295778621546,
      0.4488152237417},
     {202.2641178553, 235.5509098286, 1, -101.1320589277}},
    {{Family::poisson, true},
     {-11.07646480488, 0.1140051684987, 1.837980835588, -0.2457815001973, 0.5578686725817, -0.0338038900581,
      -0.8101607959412, 0.3095302132515},
     {1.712919198082, 0.01615303231986, 0.1742970031115, 0.1416254062511, 0.1144762551214, 0.1127814459219,
      0.1611208955126, 0.08771087521417},
     {4.384256467364, 0.04155933307791, 0.410117694841, 0.4397249610161, 0.3053028533593, 0.2236631270357,
      0.3063936661081, 0.2228983500255},
     {3.155884321489, 0.02918293843633, 0.2019726493838, 0.1287748603725, 0.2879599174344, 0.1609299943606,
      0.2583863963795, 0.2357910598084},
     {394.6463549064, 642.5672355858, 1, -393.8440040585}},
    {{Family::gamma, true},
     {0.2102171820411, -0.005628966722755, 0.8133599725422, -0.04545476725767, -0.08843669635569, 0.03862562572926,
      -0.1959377850391, 0.155436486155},
     {1.941816825252, 0.01839166790689, 0.1939358057786, 0.1426100387752, 0.147336062973, 0.1332222898714,
      0.1449463219387, 0.102996085289},
     {2.057226918909, 0.01930588456453, 0.1979464434554, 0.139593474824, 0.1514190424084, 0.1398120642278,
      0.1638907783687, 0.1085861749814},
     {1.261744302688, 0.01164348974279, 0.3371302521794, 0.09999311263122, 0.1136537132656, 0.06353845555529,
      0.1233195326323, 0.08716519434137},
     {33.58210256772, 42.59817187584, 0.4161774234895, -29.54833145543}},
};

void expect_near(double actual, double expected, double scale, const char* what) {
    EXPECT_NEAR(actual, expected, 1e-8 * std::max(std::fabs(expected), scale)) << what;
}

TEST(LinearFit, AgreesWithStatsmodels) {
    QuietContext context;
    for (const Published& expected : published) {
        SCOPED_TRACE(expected.of.text());
        PlainRows rows = formula_rows(expected.of.family, expected.of.weighted);
        Options options = expected.of.options();
        for (const Eight* const errors : {&expected.errors, &expected.clustered, &expected.robust}) {
            options.std_error = errors == &expected.errors ? StdError::model : StdError::robust;
            if (errors == &expected.robust) rows.clusters.clear();
            const Model model = fit_rows(rows, options, context).model;
            const std::vector<Coefficient> found = coefficients(model, {});
            ASSERT_EQ(found.size(), 8u);
            for (size_t k = 0; k < 8; k++) {
                expect_near(*found[k].estimate, expected.estimates[k], 0.1 * expected.errors[k], "estimate");
                expect_near(*found[k].std_error, (*errors)[k], 0, "standard error");
                expect_near(*found[k].statistic, expected.estimates[k] / (*errors)[k], 0.1, "statistic");
            }
            const Statistics& statistics = model.statistics;
            expect_near(statistics.deviance, expected.statistics.deviance, 0, "deviance");
            expect_near(statistics.null_deviance, expected.statistics.null_deviance, 0, "null deviance");
            expect_near(*statistics.dispersion, expected.statistics.dispersion, 0, "dispersion");
            expect_near(*statistics.log_likelihood, expected.statistics.log_likelihood, 0, "log likelihood");
            const double others = expected.of.family == Family::gaussian || expected.of.family == Family::gamma ? 9 : 8;
            expect_near(*statistics.aic, 2 * others - 2 * expected.statistics.log_likelihood, 0, "AIC");
            EXPECT_EQ(statistics.clusters, errors == &expected.clustered ? 7u : 0u);
            EXPECT_EQ(statistics.degrees_of_freedom, 72);
            EXPECT_EQ(model.missing[1], 11u);
        }
    }
}

// p values and intervals of the first fit, by Student's t of 72 degrees of freedom.
TEST(LinearFit, TestsAreThoseOfStatsmodels) {
    QuietContext context;
    PlainRows rows = formula_rows(Family::gaussian, false);
    rows.clusters.clear();
    const Model model = fit_rows(rows, {}, context).model;
    const Eight p_values = {0.18068965743144322,    7.2260992766321193e-05, 2.1547529533976017e-32,
                            0.52473995186644828,    6.2543171686779232e-14, 0.80300848120981139,
                            2.5433688101005789e-12, 5.2391414279444962e-10};
    const std::vector<Coefficient> found = coefficients(model, {});
    for (size_t k = 0; k < 8; k++) expect_near(*found[k].p_value, p_values[k], 0, "p value");
    expect_near(*found[0].lower, -5.9334374273260169, 0, "lower");
    expect_near(*found[0].upper, 1.138232745053072, 0, "upper");
    expect_near(*found[1].lower, 0.037160179759655611, 0, "lower");
    expect_near(*model.statistics.r_squared, 0.91343961102795979, 0, "R²");
    expect_near(*model.statistics.adjusted_r_squared, 0.90502401765567808, 0, "adjusted R²");
    const Eight normal = {0.66109828945347338, 0.66850734532099243, 0.021646834354710771, 0.6659404651437888,
                          0.37785120125298466, 0.9364191667554923,  0.1501797402964562,   0.11944175706706872};
    const std::vector<Coefficient> binomial =
        coefficients(fit_rows(formula_rows(Family::binomial, false), options_of(Family::binomial), context).model, {});
    for (size_t k = 0; k < 8; k++) expect_near(*binomial[k].p_value, normal[k], 0, "p value");
}

// Longley: An Appraisal of Least Squares Programs for the Electronic Computer from the Point of View of the User, 1967;
// NIST's certified values.
TEST(LinearFit, Longley) {
    const double longley[16][7] = {
        {60323, 83.0, 234289, 2356, 1590, 107608, 1947},  {61122, 88.5, 259426, 2325, 1456, 108632, 1948},
        {60171, 88.2, 258054, 3682, 1616, 109773, 1949},  {61187, 89.5, 284599, 3351, 1650, 110929, 1950},
        {63221, 96.2, 328975, 2099, 3099, 112075, 1951},  {63639, 98.1, 346999, 1932, 3594, 113270, 1952},
        {64989, 99.0, 365385, 1870, 3547, 115094, 1953},  {63761, 100.0, 363112, 3578, 3350, 116219, 1954},
        {66019, 101.2, 397469, 2904, 3048, 117388, 1955}, {67857, 104.6, 419180, 2822, 2857, 118734, 1956},
        {68169, 108.4, 442769, 2936, 2798, 120445, 1957}, {66513, 110.8, 444546, 4681, 2637, 121950, 1958},
        {68655, 112.6, 482704, 3813, 2552, 123366, 1959}, {69564, 114.2, 502601, 3931, 2514, 125368, 1960},
        {69331, 115.7, 518173, 4806, 2572, 127852, 1961}, {70551, 116.9, 554894, 4007, 2827, 130081, 1962}};
    const double estimates[] = {-3482258.63459582, 15.0618722713733,       -0.358191792925910E-01, -2.02022980381683,
                                -1.03322686717359, -0.511041056535807E-01, 1829.15146461355};
    const double errors[] = {890420.383607373,  84.9149257747669,  0.334910077722432E-01, 0.488399681651699,
                             0.214274163161675, 0.226073200069370, 455.478499142212};
    PlainRows rows;
    rows.features = {{"x1", {}}, {"x2", {}}, {"x3", {}}, {"x4", {}}, {"x5", {}}, {"x6", {}}};
    for (const auto& row : longley) {
        rows.target.push_back(row[0]);
        for (size_t f = 0; f < 6; f++) rows.features[f].values.push_back(row[f + 1]);
    }
    QuietContext context;
    const Model model = fit_rows(rows, {}, context).model;
    const std::vector<Coefficient> found = coefficients(model, {});
    for (size_t k = 0; k < 7; k++) {
        EXPECT_NEAR(*found[k].estimate / estimates[k], 1, 1e-9) << k;
        EXPECT_NEAR(*found[k].std_error / errors[k], 1, 1e-9) << k;
    }
    EXPECT_NEAR(*model.statistics.r_squared, 0.995479004577296, 1e-12);
    EXPECT_NEAR(model.statistics.deviance / 836424.055505915, 1, 1e-9);
}

// Wampler: A Report on the Accuracy of Some Widely Used Least Squares Computer Programs, 1970: powers of 0 to 20.
TEST(LinearFit, Wampler) {
    QuietContext context;
    for (const double divisor : {1.0, 10.0}) {
        PlainRows rows;
        rows.features = {{"x1", {}}, {"x2", {}}, {"x3", {}}, {"x4", {}}, {"x5", {}}};
        for (int x = 0; x <= 20; x++) {
            double power = 1;
            rows.target.push_back(1);
            for (PlainFeature& feature : rows.features) {
                power *= x;
                feature.values.push_back(power);
                rows.target.back() +=
                    power * std::pow(divisor, 1 - static_cast<double>(feature.name[1] - '0')) / divisor;
            }
        }
        const std::vector<Coefficient> found = coefficients(fit_rows(rows, {}, context).model, {});
        for (size_t k = 0; k < 6; k++)
            EXPECT_NEAR(*found[k].estimate * std::pow(divisor, static_cast<double>(k)), 1, 1e-8) << k;
    }
}

// What scikit-learn 1.9 has for the weighted formula_rows(), of numbers that are standardised and zeros and ones that
// are centred: ElasticNet, Ridge, LogisticRegression, PoissonRegressor and GammaRegressor.
struct Penalised {
    Setting of;
    Eight estimates;
};

const Penalised penalised[] = {
    {{Family::gaussian, true, 0.1, 0.5},
     {1.31875616187, 0.035728512252, 3.15355715732, 0, 0.784737879702, 0, -0.625497410957, 0.540894078279}},
    {{Family::gaussian, true, 0.1, 0},
     {-0.556126363256, 0.0532941521285, 3.19193269385, 0.0793424803215, 0.824220908316, -0.0388925860404,
      -0.709084688843, 0.615392287583}},
    {{Family::binomial, true, 0.1, 0},
     {-3.97354086715, 0.0348645593518, 1.62225525944, 0.0715411079886, -0.182575888534, 0.148469504651, -0.242839020304,
      0.54728890389}},
    {{Family::binomial, true, 0.02, 0.5},
     {-3.46839839771, 0.0305352743008, 2.16053478369, 0.00327687737622, -0.433335096228, 0.0834535618463,
      -0.580494117625, 0.726965454734}},
    {{Family::poisson, true, 0.1, 0},
     {-10.0910229936, 0.10468912825, 1.78880231266, -0.187437753221, 0.502347627383, -0.00403230726357, -0.611634687275,
      0.283333841323}},
    {{Family::gamma, true, 0.1, 0},
     {0.0187900429298, -0.00400624469693, 0.735305998358, -0.0304782064615, -0.0372161032031, 0.0495092787731,
      -0.108888360034, 0.133575729796}},
};

TEST(LinearFit, AgreesWithScikitLearn) {
    QuietContext context;
    for (const auto& [of, estimates] : penalised) {
        SCOPED_TRACE(of.text());
        const std::vector<Coefficient> found =
            coefficients(fit_rows(formula_rows(of.family, of.weighted), of.options(), context).model, {});
        for (size_t k = 0; k < 8; k++) {
            const double tolerance = of.family == Family::gaussian ? 1e-9 : 1e-8;
            EXPECT_NEAR(*found[k].estimate, estimates[k], tolerance * (1 + std::fabs(estimates[k]))) << k;
            EXPECT_EQ(*found[k].estimate == 0, estimates[k] == 0) << k;
            EXPECT_FALSE(found[k].std_error || found[k].statistic || found[k].p_value || found[k].lower);
        }
    }
}

} // namespace
} // namespace btml::linear::test
