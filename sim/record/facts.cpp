#include "sim/record/facts.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <type_traits>

namespace psim {

NLOHMANN_JSON_SERIALIZE_ENUM(Gate, {{Gate::none, "none"},
                                    {Gate::own, "own"},
                                    {Gate::staleness, "staleness"},
                                    {Gate::version, "version"}})

namespace {

using Json = nlohmann::json;

template <class T>
concept Described = requires {
  T::members([](auto, auto) {});
};

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = Described<T>;
template <class T>
constexpr bool may_lack = false;
template <class T>
constexpr bool may_lack<std::optional<T>> = true;

template <class T>
Json to_json(const T& value) {
  if constexpr (Described<T>) {
    Json object = Json::object();
    T::members([&](const char* name, auto member) { object[name] = to_json(value.*member); });
    return object;
  } else if constexpr (is_list<T>) {
    Json list = Json::array();
    for (const auto& one : value) list.push_back(to_json(one));
    return list;
  } else if constexpr (may_lack<T>) {
    return value ? Json(*value) : Json();
  } else {
    return value;
  }
}

template <class T>
void read(const Json& json, T& value) {
  if constexpr (Described<T>) {
    T::members([&](const char* name, auto member) { read(json.at(name), value.*member); });
  } else if constexpr (is_list<T>) {
    for (const Json& one : json) read(one, value.emplace_back());
  } else if constexpr (may_lack<T>) {
    if (!json.is_null()) json.get_to(value.emplace());
  } else {
    json.get_to(value);
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> rows_of(const RunFacts& facts) {
  std::vector<std::pair<std::string, std::string>> rows;
  RunFacts::members(
      [&](const char* name, auto member) { rows.emplace_back(name, to_json(facts.*member).dump()); });
  return rows;
}

RunFacts facts_in(const std::vector<std::pair<std::string, std::string>>& rows) {
  const std::map<std::string, std::string> values(rows.begin(), rows.end());
  RunFacts facts;
  RunFacts::members([&](const char* name, auto member) {
    const auto value = values.find(name);
    if (value == values.end()) throw std::runtime_error(fmt::format("run.db has no fact `{}`", name));
    read(Json::parse(value->second), facts.*member);
  });
  return facts;
}

}  // namespace psim
