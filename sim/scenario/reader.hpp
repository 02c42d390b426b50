// Fills a Scenario from a parsed document, field by field, and reports everything that does not fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/scenario/document.hpp"
#include "sim/scenario/fields.hpp"

namespace psim {

// Where each given field stands, by dotted path ("straggler.0.workers").
using Places = std::map<std::string, Place>;

class Reader final : public FieldVisitor {
 public:
  Reader(const Document& document, Diagnostics& diagnostics);

  void field(std::string_view key, FieldTarget target, FieldInfo info) override;
  void table(std::string_view key, std::string_view doc, const std::function<void()>& fields) override;
  void tables(std::string_view key, std::string_view doc, std::size_t count,
              const std::function<void(std::size_t)>& resize,
              const std::function<void(std::size_t)>& element) override;

  // Call after the last field: reports keys that nobody asked for, except `also_known`.
  void finish(const std::vector<std::string>& also_known);

  const Places& places() const { return places_; }

 private:
  struct Frame {
    const toml::table* table;  // null when the file does not have it
    std::string path;          // "" at the root, else "cluster.network"
    std::vector<std::string> keys;
    struct Chosen {
      std::string name;  // canonical; empty when the file's value was no name
      std::size_t source = 0;
    };
    std::map<std::string, Chosen, std::less<>> choices;
  };

  const toml::node* find(std::string_view key);
  std::string path_of(std::string_view key) const;
  bool applies(std::string_view key, const toml::node& node, const FieldInfo& info);
  void report_unknown(const std::vector<std::string>& also_known);
  void wrong_type(const toml::node& node, std::string_view key, std::string_view wanted, std::string help = {});

  template <class T>
  void read(const toml::node& node, std::string_view key, T& out, const FieldInfo& info);
  template <class T>
  void read(const toml::node& node, std::string_view key, std::optional<T>& out, const FieldInfo& info);
  template <class Quantity>
  bool read_quantity(const toml::node& node, std::string_view key, Quantity& out, const FieldInfo& info);
  void read_choice(const toml::node& node, std::string_view key, ChoiceField& choice, Frame::Chosen& chosen);
  bool in_range(const toml::node& node, std::string_view key, double value, std::string_view shown, const FieldInfo& info);

  const Document& document_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  Places places_;
};

}  // namespace psim
