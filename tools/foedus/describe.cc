#include "tools/foedus/describe.h"

#include "tools/foedus/preview.h"

namespace foedus::cli {

storage_meta::StorageMeta meta_of(const snapshot::ManifestStorage& storage) {
  return {storage.id,      storage.kind,          storage.name,
          storage.records, storage.payload_bytes, storage.fan_out_bits};
}

std::string line_of(const storage_meta::StorageMeta& meta) {
  std::string line = "storage " + std::to_string(static_cast<std::uint32_t>(meta.id)) + " \"" +
                     preview(meta.name) + "\": " + std::string(to_string(meta.kind));
  if (meta.kind == StorageKind::kArray) {
    line +=
        " of " + count_of(meta.records, "record") + " of " + count_of(meta.payload_bytes, "byte");
  } else if (meta.kind == StorageKind::kHash) {
    line += " that spreads by " + count_of(meta.fan_out_bits, "bit") + " at first";
  }
  return line;
}

std::string line_of(const StorageCounts& counts, StorageKind kind) {
  std::string line = count_of(counts.records, "record") +
                     (kind == StorageKind::kArray ? " written to, " : ", ") +
                     size_of(counts.payload_bytes) + " of payload, " +
                     count_of(counts.pages, "page") + ", " + count_of(counts.levels, "level");
  if (kind == StorageKind::kMasstree) line += ", " + count_of(counts.layers, "layer");
  if (counts.chains != 0) {
    line += ", " + count_of(counts.chains, "payload") + " in " +
            count_of(counts.chain_pages, "page") + " of their own";
  }
  return line;
}

void put(base::Json* json, const storage_meta::StorageMeta& meta) {
  json->number("id", static_cast<std::uint32_t>(meta.id));
  json->text("name", meta.name);
  json->text("kind", to_string(meta.kind));
  if (meta.kind == StorageKind::kArray) {
    json->number("array_records", meta.records);
    json->number("array_payload_bytes", meta.payload_bytes);
  } else if (meta.kind == StorageKind::kHash) {
    json->number("fan_out_bits", meta.fan_out_bits);
  }
}

void put(base::Json* json, const StorageCounts& counts) {
  json->number("records", counts.records);
  json->number("payload_bytes", counts.payload_bytes);
  json->number("pages", counts.pages);
  json->number("levels", counts.levels);
  json->number("layers", counts.layers);
  json->number("chains", counts.chains);
  json->number("chain_pages", counts.chain_pages);
}

void put(base::Json* json, const Findings& findings) {
  json->boolean("ok", findings.problems() == 0);
  json->number("problems", findings.problems());
  json->number("warnings", findings.warnings());
  json->begin_array("findings");
  for (const Finding& finding : findings.kept()) {
    json->begin_object();
    json->text("severity", finding.is_warning ? "warning" : "problem");
    json->text("file", finding.file);
    if (finding.page.has_value()) json->number("page", *finding.page);
    if (!finding.storage.empty()) json->text("storage", finding.storage);
    json->text("what", finding.what);
    json->end_object();
  }
  json->end_array();
}

std::uint64_t percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100 : part * 100 / whole;
}

}  // namespace foedus::cli
