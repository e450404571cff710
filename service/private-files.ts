// For its effect: all that this process writes, SQLite's own files too, is its user's alone, whoever made the folder.
process.umask(0o077);
