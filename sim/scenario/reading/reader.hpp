// Fills a Scenario from a parsed document, field by field, and reports everything that does not fit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/fields/fields.hpp"
#include "sim/scenario/reading/reading.hpp"
#include "sim/scenario/reading/unknown_keys.hpp"
#include "sim/scenario/reading/unused_fields.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {

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

  const Reading& reading() const { return reading_; }

 private:
  struct Frame {
    const toml::table* table;   // null if the file has no such table
    const toml::table* preset;  // the preset's table at this path, or null
    std::string path;           // "" at the root, otherwise such as "cluster.network"
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
  bool again_ = false;  // while an element after the first is described
  std::vector<Pending> pending_;
  UnusedFields unused_;
};

}  // namespace psim
