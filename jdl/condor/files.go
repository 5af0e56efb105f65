package condor

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

func (r *reader) streams() {
	if in := r.get("input", "stdin"); in != "" && in != "/dev/null" {
		if yes(r.get("transfer_input"), true) {
			r.b.Input(r.local(in), path.Base(in), false)
			in = path.Base(in)
		}
		r.b.Str("StdInput", in)
	}
	for _, x := range [][3]string{{"output", "StdOutput", "stdout"}, {"error", "StdError", "stderr"}} {
		name := r.get(x[0], x[2])
		if base := path.Base(name); name != "" && name != "/dev/null" {
			if base != name {
				r.tell(r.b.Pos, "%s: %s comes back as %s", x[0], name, base)
			}
			r.b.Str(x[1], base)
			r.makes(name, base)
		}
	}
}

func commas(s string) []string {
	var out []string
	for _, part := range strings.Split(unquoted(s), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (r *reader) files() {
	names := append(commas(r.get("transfer_input_files", "transferinputfiles")), commas(r.get("public_input_files"))...)
	if !r.room(costOfEntry, len(names)-freeEntries) {
		return
	}
	for _, name := range names {
		at := r.b.Pos
		source := r.local(name)
		r.b.Pos = at
		base := path.Base(name)
		if strings.HasSuffix(name, "/") && !strings.Contains(name, "://") { // what is in it
			base = "."
		}
		if base == "." || !r.b.HasInput(base) {
			r.b.Input(source, base, false)
		}
	}
	oneOf(r, r.get("notification"), "notification", "NEVER", "ALWAYS", "COMPLETE", "ERROR")
	transfer(r)
	r.outputs()
}

// transfer reads whether and when files are brought, which must not contradict each other.
func transfer(r *reader) {
	when := r.get("when_to_transfer_output", "whentotransferoutput")
	oneOf(r, when, "when_to_transfer_output", "ON_EXIT", "ON_EXIT_OR_EVICT", "ON_SUCCESS", "NEVER")
	at := r.b.Pos
	should := r.get("should_transfer_files", "shouldtransferfiles")
	oneOf(r, should, "should_transfer_files", "YES", "NO", "IF_NEEDED", "TRUE", "FALSE", "ALWAYS", "NEVER")
	brings := yes(should, true)
	if when != "" && !brings || classad.EqualFold(when, "ON_EXIT_OR_EVICT") && classad.EqualFold(should, "IF_NEEDED") {
		r.fail(at, "when_to_transfer_output = %s contradicts should_transfer_files = %s, and condor_submit takes no such job", when, should)
	}
	if classad.EqualFold(when, "ON_EXIT_OR_EVICT") {
		r.tell(at, "when_to_transfer_output = %s: files come back when the job ends, and not when it is evicted", when)
	}
	if !brings {
		r.tell(r.b.Pos, "should_transfer_files = %s: elsewhere the files of this machine are not there: name what the job needs in transfer_input_files", should)
	}
}

// oneOf refuses words that HTCondor does not know.
func oneOf(r *reader, value, command string, words ...string) {
	known := func(word string) bool { return classad.EqualFold(word, value) }
	if value != "" && !slices.ContainsFunc(words, known) {
		r.fail(r.b.Pos, "%s = %s: it is %s", command, value, strings.Join(words, ", "))
	}
}

// outputs reads which files come back, and where to.
func (r *reader) outputs() {
	outs := r.get("transfer_output_files", "transferoutputfiles")
	at, names := r.b.Pos, commas(outs)
	remaps := r.remaps()
	places := map[string]string{}
	for _, m := range remaps {
		places[m.name] = m.at
		if outs == "" && m.name != "" && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	if outs == "" {
		r.b.Output("*", "") // all that the job makes
		r.makes("*", "*")
	}
	for _, name := range names { // "" in quotes is none
		place, moved := places[name]
		if moved {
			name, place = r.moved(name, place)
		} else {
			r.b.Pos = at
			r.b.Output(name, "")
		}
		r.makes(cmp.Or(place, path.Base(name)), name)
	}
}

// moved has a file brought under another name, or sent to the URL that it goes to; the place is "" then.
func (r *reader) moved(name, place string) (string, string) {
	switch {
	case strings.Contains(place, "://"):
		r.b.Output(name, place)
		return name, ""
	case path.IsAbs(place) || strings.HasPrefix(path.Clean(place), ".."):
		r.tell(r.b.Pos, "transfer_output_remaps: %s comes back as %s: only grid output tells below which directory", place, path.Base(place))
		r.b.OutputAs(name, "", path.Base(place))
	case strings.HasSuffix(place, "/"):
		place += path.Base(name)
		fallthrough
	default:
		r.b.OutputAs(name, "", path.Clean(place))
	}
	return name, place
}
