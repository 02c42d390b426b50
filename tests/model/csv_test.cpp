// Goal: tables as people have them are read, and all their mistakes are told at once. Method: small files.
#include <cmath>
#include <fstream>
#include <string>
#include <utility>

#include "model/dataset.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using Catch::Matchers::Contains;
using psim::test::TemporaryFolder;

namespace {

DataSpec with_columns(std::string label, std::vector<std::string> drop) {
  DataSpec spec;
  spec.source = DataSource("csv");
  spec.path = "data.csv";
  spec.test_fraction = 0;
  spec.label = std::move(label);
  spec.drop = std::move(drop);
  return spec;
}

DataSplit load(const std::string& content, const DataSpec& spec) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "data.csv", std::ios::binary) << content;
  return load_data(spec, 1, {folder.path()});
}

Dataset read_csv(const std::string& content, const DataSpec& spec = with_columns("", {})) {
  return load(content, spec).train;
}

bool same(const Dataset& a, const Dataset& b) {
  return a.inputs == b.inputs && a.labels == b.labels && a.classes == b.classes;
}

}  // namespace

TEST_CASE("a broken CSV file is refused by name and line", "[data]") {
  const auto [content, message] = GENERATE(table<std::string, std::string>({
      {"1,2,0\n1,0\n", "data.csv:2: the number of columns is 2, expected 3"},
      {"a,b,c\n1,2,0\n1,abc,0\n", "data.csv:3: column 2 (`b`): not a number: `abc`"},
      {"1,2,0\n1,2x,0\n", "data.csv:2: column 2: not a number: `2x`"},
      {"1,2,0\n1,,0\n", "data.csv:2: column 2: no value"},
      {"1,2,0\n1,nan,0\n", "data.csv:2: column 2: no value"},
      {"inf,2,0\n", "data.csv:1: column 1: not finite: `inf`"},
      {"1,1e39,0\n", "data.csv:1: column 2: number out of range: `1e39`"},
      {"1,1e999,0\n", "data.csv:1: column 2: number out of range: `1e999`"},
      {"1,2,65536\n",
       "data.csv:1: column 3: the class label is an integer from 0 to 65535 or a name, not `65536`"},
      {"1,2,0\n1,2,b\n", "data.csv:2: column 3: the label is `b`, but that of line 1 is a number"},
      {"1,\"2,0\n1,2,0\n", "data.csv:1: a quote is never closed"},
      {"a,b,c\r1,2,0\r", "data.csv: no text in UTF-8 with line feeds"},
      {"1,2,0.5\n", "not `0.5`"},
      {"1,2,99999999999\n", "not `99999999999`"},
      {"1,2,0\n\n1,2,0\n", "data.csv:2: empty line"},
      {"1\n2\n", "data.csv:1: a sample needs at least two columns"},
      {"a,b,c\n", "data.csv: holds no samples"},
      {"", "data.csv: holds no samples"},
  }));
  CHECK_THROWS_WITH(read_csv(content), Contains(message));
}

TEST_CASE("separators, quotes and names of classes make the same table", "[data]") {
  const Dataset plain = read_csv("1,-2.5,1\n3e-1,4,0\n");
  for (const char* text :
       {"\xef\xbb\xbfwidth;\"the \"\"height\"\";\nin cm\";kind\r\n1;-2.5;\"b;c\"\r\n\"0.3\";4;a\r\n",
        "1\t-2.5\tb\n.3\t4\ta\n", "1,-2.5,\"b\nb\"\n 0.3 , 4 , \"\"\"a\"\n", "1,-2.5,1\n.3,4,-1\n",
        "1,-2.5,True\n.3,4,False\n"}) {
    CAPTURE(text);
    CHECK(same(plain, read_csv(text)));
  }
  // By name, by number, and with columns left out; a header may have numbers if the scenario names a cell of
  // it.
  CHECK(same(plain, read_csv("kind,id,a,b\n1,7,1,-2.5\n0,9,0.3,4\n", with_columns("kind", {"2"}))));
  CHECK(same(plain, read_csv("1,7,1,-2.5\n0,9,0.3,4\n", with_columns("1", {"2"}))));
  CHECK(same(plain, read_csv("1,-2.5,1,7\n0.3,4,0,9\n", with_columns("", {"4"}))));
  CHECK(same(plain, read_csv("kind,0,1\n1,1,-2.5\n0,0.3,4\n", with_columns("kind", {}))));
  CHECK_THROWS_WITH(read_csv("a,b\n1,0\n", with_columns("c", {})), Contains("data.csv has no column `c`"));
  CHECK_THROWS_WITH(read_csv("1,0\n", with_columns("", {"3"})), Contains("data.csv has no column `3`"));
}

TEST_CASE("all mistakes of a CSV file are told at once, with their lines and columns", "[data]") {
  std::string text = "a,b,c\n1,2,0\nx,,0\n1,2\ny,3,?\n";
  for (int i = 0; i < 8; ++i) text += "z,3,0\n";
  try {
    read_csv(text);
    FAIL("was accepted");
  } catch (const DataError& error) {
    std::string told;
    for (const DataProblem& one : error.problems)
      told += std::to_string(one.line) + " [" + one.text.substr(one.begin, one.end - one.begin) + "] " +
              one.message + "; " + one.label + "\n";
    CHECK(told ==
          "3 [x] column 1 (`a`): not a number: `x`; also in lines 5, 6, 7, 8, 9 and 4 more\n"
          "3 [] column 2 (`b`): no value; \n"
          "4 [1,2] the number of columns is 2, expected 3; \n"
          "5 [?] column 3 (`c`): no value; \n");
    CHECK_THAT(error.problems[1].help, Contains("drop = [\"b\"]"));
  }
}

TEST_CASE("a table's notes name identifiers, unequal sizes and the numbers of classes", "[data]") {
  std::string text = "id,n,x,y,kind\n", shuffled = "";
  for (int i = 0; i < 20; ++i) {
    text += "7," + std::to_string(40 - i) + "," + std::to_string(i % 3) + "," +
            std::to_string(i * i % 7 * 1000) + "," + (i % 2 == 0 ? "no" : "Yes") + "\n";
    shuffled += std::to_string(i * 7 % 20) + "," + std::to_string(i % 3) + ",0\n";
  }
  const auto notes_of = [](const Dataset& data) {
    std::string all;
    for (const DataNote& note : data.notes) all += note.message + " (" + note.help + ")\n";
    return all;
  };
  const std::string notes = notes_of(read_csv(text));
  CHECK_THAT(notes, Contains("the class of column 5 (`kind`): 0 is Yes, 1 is no"));
  CHECK_THAT(notes, Contains("column 1 (`id`) seems to number the samples") && Contains("drop = [\"id\"]"));
  CHECK_THAT(notes, Contains("column 2 (`n`) seems to number the samples"));
  CHECK_THAT(notes, Contains("in column 4 (`y`) and 0.") && Contains("in column 3 (`x`)") &&
                        Contains("standardize = true"));
  DataSpec spec = with_columns("", {"id", "n"});
  spec.standardize = true;
  CHECK(notes_of(read_csv(text, spec)).find("seems") == std::string::npos);
  CHECK(notes_of(read_csv(text, spec)).find("sizes") == std::string::npos);
  CHECK_THAT(notes_of(read_csv(shuffled)), Contains("column 1 seems to number the samples"));
}

TEST_CASE("standardized features have mean 0 and deviation 1 on the training samples", "[data]") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i * 37 % 50) + "e3,0.1," + std::to_string(i % 2) + "\n";
  DataSpec spec = with_columns("", {});
  spec.test_fraction = 0.2;
  spec.validation_fraction = 0.2;
  const DataSplit raw = load(text, spec);
  spec.standardize = true;
  const DataSplit data = load(text, spec);
  double mean = 0, square = 0;
  for (Eigen::Index i = 0; i < raw.train.size(); ++i) mean += raw.train.inputs(i, 0) / 32.0;
  for (Eigen::Index i = 0; i < raw.train.size(); ++i)
    square += std::pow(raw.train.inputs(i, 0) - mean, 2) / 32;
  REQUIRE(raw.train.size() == 32);
  for (const DataPart part : {DataPart::training, DataPart::validation, DataPart::test}) {
    const Dataset &before = raw.part(part), &after = data.part(part);
    REQUIRE(before.size() >= 8);
    for (Eigen::Index i = 0; i < before.size(); ++i) {
      CHECK(after.inputs(i, 0) == Approx((before.inputs(i, 0) - mean) / std::sqrt(square)));
      CHECK(after.inputs(i, 1) == 0);
    }
  }
}
