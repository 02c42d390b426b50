// Writes a scenario for each field and each of some values, right and wrong, as FOLDER/NUMBER.toml, and
// FOLDER/cases.json with the same as JSON and psim's verdict on the value: whether the
// reader of fields has no error about it. Contradictions between fields are none of a schema's business.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/reading/reader.hpp"
#include "sim/scenario/text/document.hpp"

using namespace psim;

namespace {

using Values = std::vector<std::string>;

Values operator+(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Values numbers_of(const FieldInfo& info, bool whole) {
  Values values{"\"3\"", "true", "[1]"};
  const double step = whole ? 1 : 0.5;
  for (const double bound : {info.min, info.max}) {
    if (std::abs(bound) > 1e15) continue;
    for (const double value : {bound - step, bound, bound + step})
      values.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.3f}", value));
  }
  return values + Values{"1", "1.5", "0", "-1", whole ? "2.0" : "2"};
}

Values quantities_of(const Values& units) {
  Values values{"5", "\"5\"", "\"\"", "true"};
  for (const std::string& unit : units) values.push_back(fmt::format("\"2{}\"", unit));
  for (const char* number : {"1e-1", "1E+2", "1.5.2", "0", "0.0e3", "-1", "-0", ".5", "1.", "+1", "e", "0x1",
                             "1,5", "1e999", "nan", "1.5"})
    values.push_back(fmt::format("\"{}{}\"", number, units.front()));
  for (const char* odd : {"1  {}", "1 {}", " 1{}", "1{} ", "1{}x", "{}"})
    values.push_back("\"" + fmt::format(fmt::runtime(odd), units.front()) + "\"");
  return values;
}

template <class T>
Values values_of(const FieldInfo& info) {
  if constexpr (std::is_same_v<T, bool>) return {"true", "false", "1", "\"true\""};
  else if constexpr (std::is_same_v<T, std::int64_t>) return numbers_of(info, true);
  else if constexpr (std::is_same_v<T, double>) return numbers_of(info, false);
  else if constexpr (std::is_same_v<T, std::string>) return {"\"a\"", "\"\"", "3", "true", "[\"a\"]"};
  else if constexpr (std::is_base_of_v<Period, T>)
    return quantities_of({"s", "h", "updates", "update", "samples"}) +
           Values{"\"1.5 updates\"", "\"1e1  updates\"", "\"0 updates\"", "\"0.5 samples\"", "\"1 sample\""};
  else if constexpr (std::is_same_v<T, Speeds>)
    return quantities_of({"Gf", "f"}) + Values{"[]", "[\"1Gf\", \"2Gf\"]", "[1]", "[\"0f\"]"};
  else if constexpr (requires(T t) { t.has_value(); }) return values_of<typename T::value_type>(info);
  else if constexpr (requires { typename T::value_type; }) {
    const Values inner = values_of<typename T::value_type>(info);
    Values values{"1", "\"a\"", "[]"};
    for (const std::string& one : inner)
      values.push_back(fmt::format("[{}]", one)), values.push_back(fmt::format("[{0}, {0}]", one));
    return values;
  } else {
    Values units;
    for (const UnitName& unit : Unit<T>::names) units.emplace_back(unit.name);
    return quantities_of(units);
  }
}

Values values_of(const DescribedField& field) {
  return std::visit(
      [&]<class Target>(const Target& target) -> Values {
        if constexpr (std::is_pointer_v<Target>) return values_of<std::remove_pointer_t<Target>>(field.info);
        else {
          Values values{"\"nonsense\"", "\"\"", "3"};
          for (const std::string& name : all_names(target.choices))
            values.push_back(fmt::format("\"{}\"", name));
          return values;
        }
      },
      field.target);
}

// The fields of a scenario, by path, that make `field` meaningful and its table complete.
void add_needed(const DescribedField& field, std::map<std::string, std::string>& given) {
  const FieldList& all = all_fields();
  for (const DescribedField& other : all.fields) {
    if (other.table != field.table || !other.info.required || given.contains(other.path())) continue;
    const auto* choice = std::get_if<ChoiceField>(&other.target);
    const bool is_list = std::holds_alternative<std::vector<std::int64_t>*>(other.target);
    const bool is_text = std::holds_alternative<std::string*>(other.target);
    given[other.path()] = choice != nullptr ? fmt::format("\"{}\"", choice->choices.front().name)
                          : is_list         ? "[0]"
                          : is_text         ? "\"a\""
                                            : "1";
    add_needed(other, given);
  }
  if (field.info.when.empty()) return;
  const std::string key(field.info.when_key);
  const std::string path =
      key.find('.') == std::string::npos && !field.table.empty() ? field.table + "." + key : key;
  given[path] = fmt::format("\"{}\"", field.info.when.front());
  if (const DescribedField* choice = all.find(path); choice != nullptr) add_needed(*choice, given);
}

std::string scenario(const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> tables;
  for (const auto& [path, value] : given) {
    const std::size_t dot = path.rfind('.');
    tables[dot == std::string::npos ? "" : path.substr(0, dot)] +=
        fmt::format("{} = {}\n", path.substr(dot + 1), value);
  }
  std::string text;
  for (const auto& [path, fields] : tables) {
    const auto& all = all_fields().tables;
    const auto table = std::ranges::find(all, path, &DescribedTable::path);
    const bool repeated = table != all.end() && table->repeated;
    text += path.empty()
                ? fields
                : fmt::format("{}{}{}\n{}", repeated ? "[[" : "[", path, repeated ? "]]" : "]", fields);
  }
  return text;
}

class Writer {
 public:
  explicit Writer(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void add(const std::string& path, const std::string& value, const std::string& text) {
    if (!seen_.insert(text).second) return;
    std::ofstream(folder_ / fmt::format("{}.toml", cases_.size())) << text;
    Diagnostics diagnostics;
    ParsedText parsed = parse_text(text, diagnostics.add_source({"case", text}));
    std::ostringstream json;
    json << toml::json_formatter(parsed.root);
    const Document document{.root = parsed.root};
    Reader reader(document, diagnostics);
    Scenario read;
    describe(reader, read);
    reader.finish({"compare", "tune"});
    bool accepted = !parsed.problem;
    for (const Diagnostic& one : diagnostics.list()) accepted = accepted && one.code == "no-meaning";
    cases_.push_back(
        {{"path", path}, {"value", value}, {"json", nlohmann::json::parse(json.str())}, {"psim", accepted}});
  }
  ~Writer() { std::ofstream(folder_ / "cases.json") << cases_; }

 private:
  std::filesystem::path folder_;
  std::set<std::string> seen_;
  nlohmann::json cases_ = nlohmann::json::array();
};

}  // namespace

int main(int, char** argv) {
  Writer writer(argv[1]);
  for (const DescribedField& field : all_fields().fields) {
    for (const std::string& value : values_of(field)) {
      std::map<std::string, std::string> given;
      add_needed(field, given);
      given[field.path()] = value;
      writer.add(field.path(), value, scenario(given));
    }
  }
  const std::string study = "[model]\nlayers = [64, 10]\n[training]\nsteps = 1\n[compare]\n";
  for (const char* seeds : {"[]", "[1]", "[1, 2]", "[1, 1]", "[-1]", "[1.5]", "3", "[\"1\"]"})
    writer.add("compare.seeds", seeds, fmt::format("{}seeds = {}\n", study, seeds));
  for (const char* values : {"[]", "[1, 2]", "3"})
    writer.add("compare.axis", values, fmt::format("{}\"cluster.workers\" = {}\n", study, values));
}
