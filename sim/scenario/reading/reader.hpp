// Fills a Scenario from a parsed document, field by field, and reports everything that does not fit.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

// What the source says about each field, by dotted path ("straggler.0.workers").
struct Reading {
  std::map<std::string, Place> places;  // of the given fields and tables
  std::set<std::string> wrong;          // fields and tables with an error of their own
  bool complete = true;                 // false: what is absent may stand in lines that could not be parsed

  std::string preset = {};                        // its name, when there is one
  std::optional<std::size_t> preset_source = {};  // of its fields

  bool given(const std::string& path) const { return places.contains(path); }
  bool by_preset(const std::string& path) const;
  // Whether the field's value is what the user meant; what depends on another one is not judged.
  bool reliable(const std::string& path) const;
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

  // Call after the last field: reports what only the whole description tells, and keys that nobody asked
  // for, except `also_known`.
  void finish(const std::vector<std::string>& also_known);

  const Reading& reading() const { return reading_; }

 private:
  struct Frame {
    const toml::table* table;   // null when the file does not have it
    const toml::table* preset;  // what a preset has in its place, or null
    std::string path;           // "" at the root, else "cluster.network"
  };
  struct Chosen {
    std::string name;  // canonical; empty when the file's value was no name
    std::size_t source = 0;
    bool meant = true;  // false: the choice has no meaning itself
  };
  // A complaint that is void when `depends_on` turns out not to be reliable.
  struct Pending {
    std::string depends_on;
    Diagnostic diagnostic;
  };

  // A field whose Need is looked at in the end.
  struct Needy {
    std::string path;
    Place place;         // of its key
    std::size_t source;  // of its value
    Need need;
  };

  const toml::node* find(std::string_view key);            // in the file
  const toml::node* find_or_preset(std::string_view key);  // or else in the preset
  const toml::node* remember(std::string_view key, const toml::node* node);
  std::size_t rank(std::size_t source) const;
  std::string path_of(std::string_view key) const;
  std::string path_of_choice(std::string_view key) const;  // of a FieldInfo's when_key
  bool applies(std::string_view key, const toml::node& node, const FieldInfo& info);
  Place place_of_key(std::string_view key, const toml::node& node) const;
  void remember_need(std::string_view key, const toml::node& node, const FieldInfo& info);
  void report_needs();
  bool is_set(std::size_t source) const;
  void report_undone();
  void report_unknown(const toml::table& table, const std::string& path, const std::string& described);
  std::string advice(const std::string& path, const std::string& described, const std::string& key,
                     bool is_table);
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
  std::vector<Frame> frames_;
  std::map<std::string, Chosen> choices_;  // by path
  Reading reading_;
  std::vector<std::string> fields_,
      tables_;          // every path that was described, given or not; of elements, the first
  bool again_ = false;  // describing an element after the first
  std::vector<Pending> pending_;
  std::vector<Needy> needy_;
  // By source of a --set: paths of the fields that it leaves without effect.
  std::map<std::size_t, std::vector<std::string>> undone_;
};

}  // namespace psim
