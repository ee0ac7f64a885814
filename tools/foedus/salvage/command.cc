// The command salvage: what can be read of a damaged database, as a dump.
#include <filesystem>
#include <fstream>
#include <ostream>

#include "tools/foedus/closed_database.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/data/data_command.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/salvage/salvage.h"

namespace foedus::cli {

namespace {

// Refuses a dump among the files of the database, which stay as they are.
Status check_place(const Command& command) {
  if (command.file.empty() || command.file == "-") {
    return Status::error(ErrorCode::kInvalidArgument, "--out names the file of the dump");
  }
  const std::filesystem::path folder = std::filesystem::path(command.file).parent_path();
  std::vector<std::string> dirs = {command.directories.dir};
  dirs.insert(dirs.end(), command.directories.dirs.begin(), command.directories.dirs.end());
  dirs.insert(dirs.end(), command.directories.ssd_dirs.begin(), command.directories.ssd_dirs.end());
  for (const std::string& dir : dirs) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(folder.empty() ? "." : folder, dir, ignored)) continue;
    return Status::error(ErrorCode::kInvalidArgument,
                         "the dump must not lie in " + dir + ", which salvage leaves as it is");
  }
  return {};
}

Status write_dump(const Command& command, DumpFormat format, Salvage* salvage) {
  std::ofstream file(command.file, std::ios::binary | std::ios::trunc);
  if (!file) return Status::error(ErrorCode::kIoError, "cannot make the file " + command.file);
  salvage->write(format, command.progress, &file);
  file.close();
  return check_output(file);
}

void write_text(const Command& command, const Salvage& salvage, const Losses& losses,
                std::ostream* out) {
  if (salvage.manifest().has_value()) {
    *out << "snapshot " << static_cast<std::uint32_t>(salvage.manifest()->number)
         << ": epochs up to " << salvage.manifest()->covered.number() << '\n';
  } else {
    *out << "no snapshot\n";
  }
  *out << "state at the end of epoch " << salvage.whole().number()
       << (losses.count() == 0 ? "\n" : ", but for what is lost\n");
  if (salvage.later_records() != 0 && command.is_newest) {
    *out
        << "INCONSISTENT: " << count_of(salvage.later_records(), "log record")
        << " of later epochs are in the dump, and others may be missing; transactions may be there "
           "in part\n";
  } else if (salvage.later_records() != 0) {
    *out << count_of(salvage.later_records(), "log record")
         << " of later epochs check out and are left out, because others may be missing; --newest "
            "takes them\n";
  }
  for (const SalvagedStorage& storage : salvage.storages()) {
    *out << "  " << line_of(storage.meta) << "; " << count_of(storage.rows, "row") << '\n';
  }
  *out << "salvaged " << count_of(salvage.rows(), "row") << " of "
       << count_of(salvage.storages().size(), "storage") << "; "
       << (losses.count() == 0 ? "everything was readable"
                               : std::to_string(losses.count()) +
                                     " of the lines above say what is "
                                     "lost")
       << '\n';
}

void write_json(const Command& command, const Salvage& salvage, const Losses& losses,
                std::ostream* out) {
  base::Json json(out);
  json.begin_object();
  json.text("directory", command.directories.dir);
  json.boolean("ok", losses.count() == 0);
  if (salvage.manifest().has_value()) {
    json.number("snapshot", static_cast<std::uint32_t>(salvage.manifest()->number));
    json.number("covered_epoch", salvage.manifest()->covered.number());
  }
  json.number("whole_epoch", salvage.whole().number());
  json.boolean("consistent", salvage.later_records() == 0 || !command.is_newest);
  json.number("later_records", salvage.later_records());
  json.number("rows", salvage.rows());
  json.begin_array("storages");
  for (const SalvagedStorage& storage : salvage.storages()) {
    json.begin_object();
    put(&json, storage.meta);
    json.number("rows", storage.rows);
    json.end_object();
  }
  json.end_array();
  json.number("losses", losses.count());
  json.begin_array("lost");
  for (const std::string& line : losses.kept()) json.text({}, line);
  json.end_array();
  json.end_object();
}

}  // namespace

Result<ExitStatus> run_salvage(const Command& command, std::ostream* out) {
  FOEDUS_TRY(const DumpFormat format,
             parse_dump_format(command.format.empty() ? "jsonl" : command.format));
  FOEDUS_CHECK(check_place(command));
  SalvageOptions options;
  options.is_newest = command.is_newest;
  for (const std::string& text : command.storages) {
    FOEDUS_TRY(options.storages.emplace_back(), parse_bytes(text, ByteForm::kText));
  }
  FOEDUS_TRY(const ClosedDatabase database, ClosedDatabase::open(command.directories));
  Losses losses(command.is_json ? std::function<void(const std::string&)>()
                                : [out](const std::string& line) { *out << line << '\n'; });
  FOEDUS_TRY(Salvage salvage, Salvage::plan(database, options, &losses));
  FOEDUS_CHECK(write_dump(command, format, &salvage));
  if (command.is_json) {
    write_json(command, salvage, losses, out);
  } else {
    write_text(command, salvage, losses, out);
  }
  return losses.count() == 0 ? ExitStatus::kFine : ExitStatus::kDamaged;
}

}  // namespace foedus::cli
