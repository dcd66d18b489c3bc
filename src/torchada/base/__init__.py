"""What every subpackage may use: settings, warnings, plug-ins, caches, processes, the version. It knows no other."""
