package condor

import (
	"strings"

	"gridbroker/jdl/classad"
)

// Looks reports whether a text is a submit description: it has a queue
// statement, or a command that only HTCondor has, without a semicolon.
func Looks(src []byte) bool {
	for line := range strings.Lines(string(src[:min(len(src), 1<<20)])) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || strings.HasSuffix(line, ";") {
			continue
		}
		word, rest := cutWord(line)
		if classad.EqualFold(word, "queue") && !strings.HasPrefix(rest, "=") {
			return true
		}
		name, _, ok := strings.Cut(line, "=")
		switch classad.Fold(strings.TrimSpace(name)) {
		case "universe", "should_transfer_files", "when_to_transfer_output", "transfer_input_files", "request_cpus", "request_memory":
			if ok {
				return true
			}
		}
	}
	return false
}
