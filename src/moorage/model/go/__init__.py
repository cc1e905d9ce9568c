"""Values as Go prints and parses them: durations, times, integers, quoted strings."""
