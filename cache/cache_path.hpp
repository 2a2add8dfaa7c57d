// Where a cache file lies, and whether that place can be trusted: a cubin is native code of the
// GPU, so nobody else may be able to write what we load. Functions without state, any thread.
#pragma once

#include <string>

#include "runtime/base/error.hpp"

namespace qrow {

// The path of the database file for what a caller gave: `given`, else QROW_CACHE, else the user's
// cache folder. A folder (one that exists, or any path that ends in '/') holds a file whose name
// carries the format number, so that releases with different formats share a folder; every other
// path is taken literally.
// "" if nothing is given and the user has no home.
std::string resolve_cache_path(const std::string& given);

// The folder of lock files beside a database file.
std::string lock_folder_of(const std::string& file);

// May the database `file`, its folder and sqlite's files beside it be used for reading and writing?
// No where one of them belongs to another user, may be written by others, or is a symbolic link.
// What does not exist is no reason. A sticky folder of root (/tmp) is allowed: nobody else can
// replace our files there.
Support trust_own_file(const std::string& file);

// May `file`, named by the caller to be read only, be used? Any owner, but not if every user may
// write it.
Support trust_seed_file(const std::string& file);

// Could `file` be a cache, sound or damaged? No, with a sentence that names it, where something
// else is there: a folder, a device, a file that does not begin like a database. For paths that a
// person gives: a service sets a damaged file aside and goes on.
Support begins_like_cache(const std::string& file);

}  // namespace qrow
