#pragma once
// The whole public interface of the engine.

#include "foedus/cxx20.h"

#if FOEDUS_HAS_CXX20
#include "foedus/bulk_load.h"
#include "foedus/changes.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/key.h"
#include "foedus/key_decode.h"
#include "foedus/limits.h"
#include "foedus/nvm_stats.h"
#include "foedus/options.h"
#include "foedus/stats.h"
#include "foedus/status.h"
#include "foedus/storage.h"
#include "foedus/ticket.h"
#include "foedus/txn.h"
#endif
