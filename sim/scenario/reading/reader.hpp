// Fills a Scenario from a parsed document, field by field, and reports everything that does not fit.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// The given fields of a scenario and their errors, by dotted path ("straggler.0.workers").
struct Reading {
  std::map<std::string, Place> places;  // of the given fields and tables
  std::set<std::string> wrong;          // fields and tables that have an error themselves
  bool complete = true;                 // false: an axis may give an absent field

  std::string preset = {};                        // the preset's name, if the scenario has one
  std::optional<std::size_t> preset_source = {};  // the source of the preset's fields

  bool given(const std::string& path) const { return places.contains(path); }
  bool by_preset(const std::string& path) const;
  // Whether the field's value is what the user meant. psim does not check fields that depend on an unreliable
  // field.
  bool reliable(const std::string& path) const;
};

// Finds keys of a document that are neither a field nor a table, and suggests what the user meant.

// Every described path, given or not; for a list only its first element.
struct Described {
  std::vector<std::string> fields = {}, tables = {};
};

class UnknownKeys {
 public:
  // Marks the fields that the user probably meant as wrong in `reading`.
  UnknownKeys(const Described& described, Reading& reading, Diagnostics& diagnostics)
      : described_(described), reading_(reading), diagnostics_(diagnostics) {}

  void report(const toml::table& root) { report(root, "", ""); }

 private:
  // A table at `path`, which was described as `as`.
  void report(const toml::table& table, const std::string& path, const std::string& as);
  std::string in_a_set(const std::string& help, std::size_t source) const;
  std::string advice(const std::string& path, const std::string& as, const std::string& key, bool is_table);

  const Described& described_;
  Reading& reading_;
  Diagnostics& diagnostics_;
};

// Given fields that have no effect, because of the value of another field.
class UnusedFields {
 public:
  UnusedFields(const Document& document, const Reading& reading) : document_(document), reading_(reading) {}

  // psim checks a field's Need when all fields are known. `place`: of the field's key; `source`: of its
  // value.
  void remember(std::string path, const Place& place, std::size_t source, const Need& need) {
    needy_.push_back({std::move(path), place, source, need});
  }
  // A later source takes the field's meaning away. psim notes it if the source is a --set.
  void lose(const std::string& path, std::size_t by) {
    if (is_set(by)) undone_[by].push_back(path);
  }
  // The later source wins. The choices of a preset have the place of the preset's name.
  std::size_t rank(std::size_t source) const {
    return reading_.preset_source == source ? document_.preset->given_in : source;
  }
  void report(Diagnostics& diagnostics);

 private:
  struct Needy {
    std::string path;
    Place place;
    std::size_t source;
    Need need;
  };
  bool is_set(std::size_t source) const;
  bool is_varied(std::string_view key) const;
  bool is_quiet(const Needy& needy, std::string_view key);

  const Document& document_;
  const Reading& reading_;
  std::vector<Needy> needy_;
  std::map<std::size_t, std::vector<std::string>> undone_;  // by source of a --set: paths
};

class Reader final : public FieldVisitor {
 public:
  Reader(const Document& document, Diagnostics& diagnostics);

  void field(std::string_view key, FieldTarget target, FieldInfo info) override;
  void table(std::string_view key, std::string_view doc, const std::function<void()>& fields,
             bool* given) override;
  void tables(std::string_view key, std::string_view doc, std::size_t count,
              const std::function<void(std::size_t)>& resize, const std::function<void(std::size_t)>& element,
              const FieldInfo& info = {}) override;

  // Call after the last field. Reports errors that need the whole description, and unknown keys except
  // `also_known`.
  void finish(const std::vector<std::string>& also_known);
  // The same without unknown keys: for some tables of a document.
  void settle();

  const Reading& reading() const { return reading_; }

 private:
  struct Frame {
    const toml::table* table;   // null if the file has no such table
    const toml::table* preset;  // the preset's table at this path, or null
    std::string path;           // "" at the root, otherwise such as "cluster.network"
    std::string as;  // the same, with the first element of each list: "question.0" for "question.3"
  };
  struct Chosen {
    std::string name;  // canonical; empty if the file's value was not a name
    std::size_t source = 0;
    bool meant = true;  // false: the choice has no meaning itself
  };
  // A diagnostic that psim drops if `depends_on` is not reliable.
  struct Pending {
    std::string depends_on;
    Diagnostic diagnostic;
  };

  const toml::node* find(std::string_view key);            // in the file
  const toml::node* find_or_preset(std::string_view key);  // otherwise in the preset
  const toml::node* remember(std::string_view key, const toml::node* node);
  std::string path_of(std::string_view key) const;
  std::string described_as(std::string_view key) const;
  // Adds the key of a field or table. Elements of a list have the same description, which stands once.
  void describe(std::vector<std::string>& paths, std::string_view key) const;
  std::string path_of_choice(std::string_view key) const;  // of a FieldInfo's when_key
  bool applies(std::string_view key, const toml::node& node, const FieldInfo& info);
  Place place_of_key(std::string_view key, const toml::node& node) const;
  void remember_need(std::string_view key, const toml::node& node, const FieldInfo& info);
  void refuse(std::string code, const toml::node& node, std::string_view key, std::string message,
              std::string label, std::string help = {});
  void wrong_type(const toml::node& node, std::string_view key, std::string_view wanted,
                  std::string help = {});

  template <class T>
  void read(const toml::node& node, std::string_view key, T& out, const FieldInfo& info);
  template <class T>
  void read(const toml::node& node, std::string_view key, std::optional<T>& out, const FieldInfo& info);
  template <class Quantity>
  bool read_quantity(const toml::node& node, std::string_view key, Quantity& out, const FieldInfo& info,
                     std::string_view also = {});
  template <class AnyPeriod>
  void read_period(const toml::node& node, std::string_view key, AnyPeriod& out);
  bool read_count(const toml::node& node, std::string_view key, std::string_view what, std::int64_t& out);
  void read_choice(const toml::node& node, std::string_view key, ChoiceField& choice, Chosen& chosen);
  bool in_range(const toml::node& node, std::string_view key, double value, std::string_view shown,
                const FieldInfo& info, std::string_view unit = {});

  const Document& document_;
  Diagnostics& diagnostics_;
  bool is_whole_;  // a text with mistakes may lack elements of a list
  std::vector<Frame> frames_;
  std::map<std::string, Chosen> choices_;  // by path
  Reading reading_;
  Described described_;
  std::vector<Pending> pending_;
  UnusedFields unused_;
};

}  // namespace psim
