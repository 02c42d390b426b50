// Draws the model of a scenario, and its data.
#include <fmt/format.h>

#include <algorithm>

#include "model/data_shape.hpp"
#include "sim/fuzz/generator.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

namespace {

// A row that a program has added to psim's tables; null if there is none, or by chance.
template <class RowOfTable>
const RowOfTable* drawn_addition(Dice& dice) {
  const std::deque<RowOfTable>& all = all_rows<RowOfTable>();
  const std::size_t own = built_in_rows<RowOfTable>().size();
  if (all.size() == own || !dice.chance(0.3)) return nullptr;
  return &all[static_cast<std::size_t>(
      dice.between(static_cast<std::int64_t>(own), static_cast<std::int64_t>(all.size()) - 1))];
}

// Whether the kind of model can learn from the source's data without more fields.
bool fits(const ModelRow& kind, const DataSourceRow& source) {
  DataShape shape;
  if (source.shape != nullptr) source.shape(DataSpec{}, shape);
  return kind.can_learn(shape.classification ? shape.outputs : 0);
}

// Replaces a multi-layer perceptron and its samples, because their sizes must agree.
void draw_added_model(Table& model, Table& data, Dice& dice) {
  const ModelRow* kind = drawn_addition<ModelRow>(dice);
  if (kind == nullptr || !kind->has_numbers || kind->is_sparse || kind->has_layers) return;
  std::erase_if(model.rows, [](const Row& row) { return row.key == "layers"; });
  model.rows.front().value = in_quotes(kind->name);
  draw_settings(kind->settings, model, dice);
  if (kind->learns == Learns::targets) data.rows.front().value = in_quotes("teacher");
  const auto classes = std::ranges::find(data.rows, "classes", &Row::key);
  if (kind->learns == Learns::two_classes && classes != data.rows.end()) classes->value = "2";
  const DataSourceRow* source = drawn_addition<DataSourceRow>(dice);
  if (source == nullptr || source->is_sparse || source->reads_files || !fits(*kind, *source)) return;
  std::erase_if(data.rows, [source](const Row& row) {
    return row.key != "source" && row.key != "validation_fraction" && !lists(source->fields, row.key);
  });
  data.rows.front().value = in_quotes(source->name);
  draw_settings(source->settings, data, dice);
}

}  // namespace

void draw_model(Draft& draft, Dice& dice) {
  Table& data = draft["data"];
  const std::string kind = dice.chance(0.45) ? "phantom" : dice.chance(0.85) ? "mlp" : "logistic";
  if (kind == "phantom") draft.tables.pop_back();
  else if (kind == "mlp")
    data.rows = {{"source", "\"blobs\"", true},
                 {"samples", "120", true},
                 {"features", "4", true},
                 {"classes", "3", true}};
  else
    data.rows = {{"source", "\"clicks\"", true},
                 {"samples", "120", true},
                 {"features", "60", true},
                 {"nonzeros", "4", true}};
  if (kind != "phantom" && dice.chance(0.2)) data.rows.push_back({"validation_fraction", "0.25"});
  Table& model = draft["model"];
  model.rows = {{"kind", '"' + kind + '"', true}};
  if (kind == "mlp") {
    model.rows.push_back({"layers", fmt::format("[4, {}, 3]", dice.between(2, 8)), true});
    if (dice.chance(0.3))
      model.rows.push_back({"precision", dice.text_of({"float64", "float16", "bfloat16"})});
    draw_added_model(model, draft["data"], dice);
  }
  if (kind != "phantom") return;
  if (dice.chance(0.6))
    model.rows.push_back({"arrays", dice.chance(0.5) ? "[100, 10, 1000]" : "[7, 7]", true});
  else model.rows.push_back({"parameters", dice.number(100, 4000), true});
}

}  // namespace psim::fuzz
